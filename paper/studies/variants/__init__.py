"""Which variant of error feedback comes closest to dense training? The study `variants`."""
