"""The exact worst-case rates of error feedback on smooth strongly convex functions."""
