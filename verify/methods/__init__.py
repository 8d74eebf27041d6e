"""Methods to copy: each file poses one, and `python -m sparsync.verify.tight_rate --method FILE.py` finds its rate."""
