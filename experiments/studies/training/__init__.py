"""Studies of training with sparsified gradients."""
