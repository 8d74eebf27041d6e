"""How do the commands here read what a user types? Words that do not fit are refused by argparse, with their value."""

import argparse


def positive(text: str) -> int:
    """A number of processes or threads.

    Raises:
        argparse.ArgumentTypeError: it is no whole number, or below 1.
    """
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number and at least 1, got {text}")
    return number
