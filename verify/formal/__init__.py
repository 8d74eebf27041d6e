"""The Coq proofs: sources, what they prove, and the command that compiles them."""
