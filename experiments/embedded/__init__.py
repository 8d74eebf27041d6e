"""The embedded data: a subset of Fashion-MNIST with its licence and the script that made it, and a book."""
