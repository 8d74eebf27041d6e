"""What the learning systems do, at which price: curvature, leakage, privacy and corrupted data."""
