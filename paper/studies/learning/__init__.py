"""What the learning systems around the core have shown: a study each."""
