"""What decides ahead of time: batches, barriers, commits, switches, samples and weights of mixing."""
