"""What a statement is written in: its record, the symbols, and the functions that sympy lacks."""
