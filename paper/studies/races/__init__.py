"""Who is early, and who sends little: the study `races`."""
