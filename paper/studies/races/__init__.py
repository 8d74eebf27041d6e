"""Who is early, and who sends little: the studies `races` and `race_finals`."""
