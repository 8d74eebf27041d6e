"""Complete programs: one of plain DistributedDataParallel, and what sending little changes in it."""
