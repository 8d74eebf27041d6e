"""A process among others: what it says and hears, and its part in the run of a system."""
