"""The embedded subset of Fashion-MNIST: data file, licence, and the script that made it."""
