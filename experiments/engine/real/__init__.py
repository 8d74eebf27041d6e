"""The engine on real processes: a server that owns the policy, workers that own their vectors, and what they say."""
