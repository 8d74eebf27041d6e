"""Selection: tensor in, sparse payload out; no state, no communication."""
