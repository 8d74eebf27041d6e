"""What do communication, memory and rounds cost? Closed forms, and what selecting k of d entries makes of them."""
