"""What evidence is made with: solvers, searches, balls, and the outcome of a check; and where results come from."""
