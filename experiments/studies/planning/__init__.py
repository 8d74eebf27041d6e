"""Studies of plans and of the cost models behind them."""
