"""Which data does a run train on? Named sources, each loaded into one `Dataset` of flat tensors.

`embedded` is a real subset of Fashion-MNIST that travels with the package and needs no network; `fashion_mnist`
and `cifar10` are the full sets, from a given folder, from Debian's package, or downloaded once and checked by
SHA-256; `text` is text, see `text.py`. Sources: Xiao, Rasul and Vollgraf (2017), arXiv 1708.07747; Krizhevsky (2009),
"Learning multiple layers of features from tiny images".
"""

import hashlib
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pooch
import torch
from numpy.typing import NDArray

from sparsync.experiments.training.formats import (
    CIFAR_ARCHIVE,
    CLASS_COUNT,
    RawImages,
    read_cifar_folder,
    read_idx_folder,
)
from sparsync.experiments.training.text import TOKEN_COUNT, WINDOW, read_text, split_text

PixelScale = Literal["unit", "standardised"]
PIXEL_SCALES: tuple[PixelScale, ...] = get_args(PixelScale)
DataKind = Literal["images", "text"]
TEXT = "text"
"""the source that is no image"""

EMBEDDED_FILE = Path(__file__).parents[1] / "embedded" / "fashion_mnist_subset.npz"
EMBEDDED_SHA256 = "1edaa90259fa038ae3d1d0f5b829f05dc763568075465b727b2002335fd036b6"
# Of the decompressed files joined (see `RawImages`): the same for Debian's files and for upstream's.
FASHION_MNIST_SHA256 = "14410854cf7a289477dcfc7df3f8ec24741e281cdcc425ede0d9a748ca630214"
# Where Debian and Ubuntu install the package dataset-fashion-mnist.
FASHION_MNIST_SYSTEM_FOLDER = Path("/usr/share/datasets/fashion-mnist")


@dataclass(frozen=True)
class Publication:
    """Files on a web server: `base_url` ends in a slash, `sha256` maps file names to hexadecimal digests."""

    base_url: str
    sha256: Mapping[str, str]


# The address is that of the README of zalandoresearch/fashion-mnist, which gives MD5 digests. The SHA-256 digests
# are published by TensorFlow Datasets (url_checksums) and belong to the files with those MD5 digests.
FASHION_MNIST = Publication(
    base_url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    sha256={
        "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    },
)
# The SHA-256 digest is published by TensorFlow Datasets (url_checksums); Krizhevsky's page gives MD5 only.
CIFAR10 = Publication(
    base_url="https://www.cs.toronto.edu/~kriz/",
    sha256={CIFAR_ARCHIVE: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images to classify, flat, with pixels on one of the two scales of `as_dataset`; or text to go on with.

    Attributes:
        name: key of `SOURCES`, or `text`; never a path.
        train_images, test_images: [n, features] float32; a row is an image in (channel, height, width) order. Of text
            [n, window] uint8, a row being a window of tokens.
        train_labels, test_labels: [n] int64 in [0, class_count); of text [n, window] uint8, the tokens that follow.
        image_shape: (channels, height, width), whose product is `feature_count`; of text (1, 1, window).
        sha256: names the data: of the embedded file, else of the decompressed files (see `RawImages`); of the text.
        kind: what the examples are.
    """

    name: str
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    class_count: int
    image_shape: tuple[int, int, int]
    sha256: str
    kind: DataKind = "images"

    @property
    def feature_count(self) -> int:
        """Channels × height × width; of text the tokens of a window."""
        return math.prod(self.image_shape)


def kind_of(source: str) -> DataKind:
    """What the examples of a source are, known or not, by its name alone."""
    return "text" if source.partition(":")[0] == TEXT else "images"


def load_dataset(source: str, *, pixels: PixelScale = "unit", cache_folder: Path | None = None) -> Dataset:
    """The dataset that `source` names: a key of `SOURCES`, or `key:FOLDER` to read the user's own copy; or text.

    The embedded images are unpacked once a process: all who ask are given the same tensors, which nobody writes to.

    Args:
        source: `embedded`, `fashion_mnist`, `cifar10`, `fashion_mnist:FOLDER` (four IDX files, `.gz` or not)
            or `cifar10:FOLDER` (the binary version, archived or not). A folder is checked for structure, not
            against a digest, and never leads to a download. `text` is the embedded book, `text:FILE` any file.
        pixels: see `as_dataset`; of text only "unit", since it has none.
        cache_folder: where downloads are kept; the user's cache folder by default.

    Raises:
        ValueError: unknown source or scale, damaged data, or a text too short; the message names the file.
        FileNotFoundError: absent folder or file.
        OSError: the download failed; nothing of the failed file is kept.
    """
    name, separator, folder = source.partition(":")
    if name not in (*SOURCES, TEXT) or (separator and not folder):
        known = ", ".join((*SOURCES, TEXT))
        raise ValueError(f"unknown data source {source!r}; known: {known}, with :FOLDER (text: :FILE) where files lie")
    require_scale(pixels, kind_of(source))
    if source == "embedded":
        return _unpacked(SOURCES[source], pixels)
    if name == TEXT:
        return as_text(read_text(Path(folder).expanduser() if folder else None))
    cache = Path(pooch.os_cache("sparsync")) if cache_folder is None else cache_folder
    raw = SOURCES[name](Path(folder).expanduser() if folder else None, cache)
    return as_dataset(raw, name=name, pixels=pixels)


@cache
def _unpacked(read: Callable[[Path | None, Path], RawImages], pixels: PixelScale) -> Dataset:
    return as_dataset(read(None, Path()), name="embedded", pixels=pixels)


def as_text(content: bytes) -> Dataset:
    """Windows of a text, with the token that follows each: see `split_text`; nothing is copied for a window."""
    train, test = split_text(content)
    return Dataset(
        name=TEXT,
        train_images=train.tokens,
        train_labels=train.following,
        test_images=test.tokens,
        test_labels=test.following,
        class_count=TOKEN_COUNT,
        image_shape=(1, 1, WINDOW),
        sha256=hashlib.sha256(content).hexdigest(),
        kind="text",
    )


def as_dataset(raw: RawImages, *, name: str, pixels: PixelScale) -> Dataset:
    """Flat rows of x = pixel / 255 (`unit`), or of (x − mean) / deviation per channel (`standardised`).

    Mean and deviation are the training images' own, computed from the data, not quoted: exact integer sums of
    bytes, then float64 (the 255 cancels); the deviation divides by n. Each pixel is rounded to float32 once.

    Raises:
        ValueError: unknown scale, or a channel of the training images is constant and is to be standardised.
    """
    require_scale(pixels, "images")
    _, channels, height, width = raw.train_images.shape
    if pixels == "unit":
        tables = [(np.arange(256) / 255).astype(np.float32)] * channels
    else:
        tables = [_standardised_levels(raw.train_images[:, channel], channel) for channel in range(channels)]
    return Dataset(
        name=name,
        train_images=_flat_images(raw.train_images, tables),
        train_labels=torch.from_numpy(raw.train_labels.astype(np.int64)),
        test_images=_flat_images(raw.test_images, tables),
        test_labels=torch.from_numpy(raw.test_labels.astype(np.int64)),
        class_count=CLASS_COUNT,
        image_shape=(channels, height, width),
        sha256=raw.sha256,
    )


def read_embedded(folder: Path | None, _cache_folder: Path, *, file: Path = EMBEDDED_FILE) -> RawImages:
    """The embedded subset: 12,000 training and 2,000 test images of Fashion-MNIST; its README says which.

    Raises:
        ValueError: a folder is given, or the file is not the one that was committed.
        FileNotFoundError: the file is absent.
    """
    if folder is not None:
        raise ValueError(f"the embedded data are read from the package, not from {str(folder)!r}")
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    _require_digest(digest, EMBEDDED_SHA256, name=f"{file}")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return RawImages(
            arrays["train_images"][:, None],
            arrays["train_labels"],
            arrays["test_images"][:, None],
            arrays["test_labels"],
            digest,
        )


def read_fashion_mnist(
    folder: Path | None,
    cache_folder: Path,
    *,
    publication: Publication = FASHION_MNIST,
    system_folder: Path = FASHION_MNIST_SYSTEM_FOLDER,
) -> RawImages:
    """Fashion-MNIST from `folder`; without one, from `system_folder` if that exists, else from the download.

    Raises:
        ValueError: damaged files or, where no folder was given, files other than the published ones.
        FileNotFoundError: absent folder or file.
        OSError: the download failed.
    """
    if folder is not None:
        return read_idx_folder(folder)
    found = system_folder
    if not found.is_dir():
        found = download(publication, cache_folder / "fashion_mnist")
    raw = read_idx_folder(found)
    _require_digest(raw.sha256, FASHION_MNIST_SHA256, name=f"{found}")
    return raw


def read_cifar10(folder: Path | None, cache_folder: Path, *, publication: Publication = CIFAR10) -> RawImages:
    """CIFAR-10 (binary version) from `folder`; without one, from the download.

    Raises:
        ValueError: damaged files, or a download other than the published one.
        FileNotFoundError: absent folder or file.
        OSError: the download failed.
    """
    return read_cifar_folder(download(publication, cache_folder / "cifar10") if folder is None else folder)


def download(publication: Publication, folder: Path) -> Path:
    """`folder`, holding all published files: those absent or damaged are fetched, and kept if the digest agrees.

    Raises:
        ValueError: the server sent a file with another SHA-256 digest.
        OSError: the server could not be reached, refused, or stopped early.
    """
    for file_name, digest in publication.sha256.items():
        url = f"{publication.base_url}{file_name}"
        try:
            pooch.retrieve(url, known_hash=f"sha256:{digest}", fname=file_name, path=folder)
        except OSError as error:
            raise OSError(f"{url} could not be downloaded ({error}); 'name:FOLDER' reads your own copy") from error
    return folder


# Each entry reads (folder or None, cache folder); a new source is one function and one line.
SOURCES: dict[str, Callable[[Path | None, Path], RawImages]] = {
    "embedded": read_embedded,
    "fashion_mnist": read_fashion_mnist,
    "cifar10": read_cifar10,
}


def _standardised_levels(pixels: NDArray[np.uint8], channel: int) -> NDArray[np.float32]:
    """The standardised value [256] of each byte, from the histogram of one channel's training pixels."""
    counts = np.bincount(pixels.ravel(), minlength=256)
    levels = np.arange(256)
    total, total_of_squares = int(counts @ levels), int(counts @ levels**2)
    # n Σx² − (Σx)² in whole numbers: no cancellation, and 0 exactly where the channel is constant.
    spread = pixels.size * total_of_squares - total**2
    if spread == 0:
        raise ValueError(f"channel {channel} of the training images is constant and cannot be standardised")
    return ((levels * pixels.size - total) / math.sqrt(spread)).astype(np.float32)


def _flat_images(images: NDArray[np.uint8], tables: Sequence[NDArray[np.float32]]) -> torch.Tensor:
    flat = np.empty((len(images), math.prod(images.shape[1:])), dtype=np.float32)
    by_channel = flat.reshape(images.shape)
    for channel, table in enumerate(tables):
        by_channel[:, channel] = table[images[:, channel]]
    return torch.from_numpy(flat)


def require_scale(pixels: str, kind: DataKind) -> None:
    """A scale of pixels is known, and asked for only where there are pixels.

    Raises:
        ValueError: if not.
    """
    if pixels not in PIXEL_SCALES:
        raise ValueError(f"unknown scale of pixels {pixels!r}; known: {', '.join(PIXEL_SCALES)}")
    if kind == "text" and pixels != "unit":
        raise ValueError(f"text has no pixels that could be {pixels!r}")


def _require_digest(digest: str, expected: str, *, name: str) -> None:
    if digest != expected:
        raise ValueError(f"{name}: SHA-256 {digest}, expected {expected}")
