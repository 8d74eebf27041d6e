"""What planners are made of: exact algorithms and the prices that they add up."""
