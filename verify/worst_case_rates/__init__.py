"""Worst-case rates of methods that a user poses: a symbolic algebra, semidefinite programmes, exact certificates."""
