"""How long a step takes over a real link, for every way of sending a gradient, and a model that predicts it."""
