"""Error feedback, collectives, training and studies: where the selectors meet real gradients."""
