"""What a model's operators hold and take, and what a machine gives: what planners are asked about."""
