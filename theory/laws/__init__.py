"""What Top-k leaves behind of vectors drawn from a known law, exactly and at small densities."""
