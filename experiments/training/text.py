"""Which text does a run train on? Bytes are the tokens, and each is to be told from those before it in its window.

`text` is a book that travels with the package, the King James Version of the Bible (see the note beside it);
`text:FILE` is any file. The first nine tenths are for training, the last tenth is for tests; both are cut into windows
that do not overlap.
"""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

WINDOW = 128
"""tokens of an example"""
TOKEN_COUNT = 256
"""the values of a byte"""
EMBEDDED_TEXT_FILE = Path(__file__).parents[1] / "embedded" / "bible_kjv.txt.xz"
# Of the text itself: it does not depend on how it is compressed.
EMBEDDED_TEXT_SHA256 = "cd45f0c9cedab8e4439bd6486c8952c77cc8b0ecc5d1f6ae3513f2039f47229d"
_TRAIN_TENTHS = 9
_SHORTEST = 10 * (WINDOW + 1)
"""bytes of which a tenth is a window and the byte behind it"""


@dataclass(frozen=True, eq=False)
class Windows:
    """Examples [n, window] uint8, and for each token of them the one that follows it, likewise."""

    tokens: Tensor
    following: Tensor


def read_text(file: Path | None, *, embedded: Path = EMBEDDED_TEXT_FILE) -> bytes:
    """The bytes of a file; without one, the embedded book.

    Raises:
        ValueError: the file is too short for a window in both parts, or the book is not the one that was committed.
        FileNotFoundError: there is no such file.
    """
    if file is not None:
        if not file.is_file():
            raise FileNotFoundError(f"{file}: no such file")
        content = file.read_bytes()
        if len(content) < _SHORTEST:
            raise ValueError(
                f"{file}: {len(content)} bytes, but windows of {WINDOW} for training and tests take {_SHORTEST}"
            )
        return content
    try:
        content = lzma.decompress(embedded.read_bytes())
    except lzma.LZMAError as error:
        raise ValueError(f"{embedded}: damaged xz file ({error})") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != EMBEDDED_TEXT_SHA256:
        raise ValueError(f"{embedded}: SHA-256 {digest}, expected {EMBEDDED_TEXT_SHA256}")
    return content


def split_text(content: bytes) -> tuple[Windows, Windows]:
    """Windows for training, from the first nine tenths, and for tests, from the rest."""
    whole = torch.from_numpy(np.frombuffer(content, dtype=np.uint8).copy())
    end = len(content) * _TRAIN_TENTHS // 10
    return _windows(whole[:end]), _windows(whole[end:])


def _windows(part: Tensor) -> Windows:
    """Views into the text: a large file is in memory once. The last window needs a byte behind it."""
    length = (len(part) - 1) // WINDOW * WINDOW
    return Windows(part[:length].view(-1, WINDOW), part[1 : length + 1].view(-1, WINDOW))
