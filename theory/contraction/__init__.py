"""How much energy Top-k leaves behind: bounds for classes of vectors, profiles, samples, ties and layers."""
