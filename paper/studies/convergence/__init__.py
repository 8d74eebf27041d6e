"""What tuned training with each selector ends with, and what it sends: the study `convergence`."""
