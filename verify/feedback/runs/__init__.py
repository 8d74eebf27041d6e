"""Runs of error feedback that nearly attain its bounds, and seeded ones: what the checks of this family play."""
