"""When it is worth waiting for one another."""
