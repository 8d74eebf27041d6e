"""Did a run keep its promises? The trace of a run, and what reads it event by event."""
