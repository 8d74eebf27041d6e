"""Collectives played message by message, against which their formulas are held."""
