"""What the hook of `DistributedDataParallel` is made of: who sends what, residuals by name, and the packed exchange."""
