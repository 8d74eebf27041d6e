"""What error feedback keeps back, which rates it has, and where it settles."""
