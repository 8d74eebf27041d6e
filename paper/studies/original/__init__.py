"""What the original study draws, beside what was found here: the relations, and the table of both."""
