"""What the paper prints of the learning systems around the core: a file each."""
