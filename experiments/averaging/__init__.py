"""Collectives: how the payloads of all workers become their mean, each written once as one worker sees it."""
