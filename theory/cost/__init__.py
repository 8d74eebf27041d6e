"""What do communication, memory and rounds cost? Closed forms, and what becomes of them when k of d entries are sent."""
