"""How late error feedback is: by energies, by coordinate, and what that does to momentum."""
