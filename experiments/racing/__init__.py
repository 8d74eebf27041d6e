"""Synchronisation models side by side on the same workers."""
