"""The synchronisation models of the literature, one file each."""
