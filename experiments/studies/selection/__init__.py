"""Studies of what selection keeps and costs."""
