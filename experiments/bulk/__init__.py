"""Bulk-synchronous programs on real processes: farms, streams, and sorting by regular samples."""
