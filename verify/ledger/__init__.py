"""All evidence for all statements, the mutants that it must notice, and the file that says so."""
