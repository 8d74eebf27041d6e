"""Studies of training with late updates."""
