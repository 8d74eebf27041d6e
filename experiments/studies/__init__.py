"""Studies: each module runs one experiment and writes one JSON file that a figure reads."""
