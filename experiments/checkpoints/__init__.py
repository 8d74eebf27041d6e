"""Training that is stopped, killed or resized goes on: what is saved, where, and how it is read again."""
