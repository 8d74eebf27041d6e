"""What the paper prints of plans and of the cost models behind them."""
