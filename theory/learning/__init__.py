"""What curvature, leakage, privacy and self-paced consensus rest on."""
