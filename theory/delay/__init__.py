"""What may be late, and how late."""
