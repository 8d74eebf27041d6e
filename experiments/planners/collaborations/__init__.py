"""Peers with unequal links: shares of a vector, who computes, and flows with copies."""
