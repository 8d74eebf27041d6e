"""Which bytes are which pixels? Decoders of IDX files (MNIST's format) and of the binary version of CIFAR-10.

A folder goes in, checked arrays of bytes come out; `data.py` turns them into tensors. Every defect is a
ValueError or FileNotFoundError that names the file. Nothing read here is executed: CIFAR-10's Python version, a
set of pickles, is not accepted. Sources: LeCun, Cortes and Burges (IDX), Krizhevsky (CIFAR-10, "binary version").
"""

import gzip
import hashlib
import io
import math
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
CIFAR_TRAIN_FILES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
CIFAR_FILES = (*CIFAR_TRAIN_FILES, "test_batch.bin")
CIFAR_ARCHIVE = "cifar-10-binary.tar.gz"
CIFAR_BATCHES_FOLDER = "cifar-10-batches-bin"
CIFAR_SHAPE = (3, 32, 32)
CLASS_COUNT = 10

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class RawImages:
    """Images as published: `images` [n, channels, height, width] and `labels` [n], all uint8.

    `sha256` names the data: the digest of the decompressed files, joined in the order of `IDX_FILES` or
    `CIFAR_FILES`. How they were compressed or archived therefore does not change it.
    """

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes
    sha256: str


def read_idx_folder(folder: Path) -> RawImages:
    """The four IDX files of `folder`, each as published (`.gz`) or decompressed.

    Raises:
        FileNotFoundError: the folder or one of the files is absent.
        ValueError: a file is damaged, counts of images and labels differ, a label is above 9, or training and
            test images differ in size.
    """
    _require_folder(folder)
    contents = [_read_plain_or_gzip(folder / name) for name in IDX_FILES]
    named = dict(zip(IDX_FILES, contents, strict=True))
    arrays = [
        decode_idx(content, name=f"{folder / name}", dimension_count=3 if "images" in name else 1)
        for name, content in named.items()
    ]
    train_images, train_labels, test_images, test_labels = arrays
    for images, labels, name in ((train_images, train_labels, "train"), (test_images, test_labels, "t10k")):
        _require_matching(images, labels, name=f"{folder / name}-*")
    if train_images.shape[1:] != test_images.shape[1:]:
        raise ValueError(f"{folder}: image sizes {train_images.shape[1:]} (train) and {test_images.shape[1:]} (t10k)")
    return RawImages(train_images[:, None], train_labels, test_images[:, None], test_labels, _digest(contents))


def decode_idx(content: bytes, *, name: str, dimension_count: int) -> Bytes:
    """The array in one IDX file: bytes 0, 0, 8 (unsigned byte), number of dimensions; big-endian sizes; data.

    Args:
        content: the decompressed file.
        name: what an error message calls it.
        dimension_count: 3 for images [n, height, width], 1 for labels [n].

    Raises:
        ValueError: another magic number, no elements, or a length that the sizes do not account for.
    """
    header_bytes = 4 + 4 * dimension_count
    if len(content) < header_bytes:
        raise ValueError(f"{name}: {len(content)} bytes, but an IDX header takes {header_bytes}")
    magic = bytes([0, 0, 8, dimension_count])
    if content[:4] != magic:
        raise ValueError(f"{name}: magic number {content[:4].hex()}, expected {magic.hex()}")
    shape = [int(size) for size in np.frombuffer(content[4:header_bytes], dtype=">u4")]
    if math.prod(shape) == 0:
        raise ValueError(f"{name}: sizes {shape} hold no data")
    if len(content) - header_bytes != math.prod(shape):
        raise ValueError(
            f"{name}: {len(content) - header_bytes} bytes of data, but sizes {shape} need {math.prod(shape)}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header_bytes).reshape(shape)


def read_cifar_folder(folder: Path) -> RawImages:
    """CIFAR-10 from a folder that holds `cifar-10-binary.tar.gz`, or its batches, or `cifar-10-batches-bin/`.

    Raises:
        FileNotFoundError: the folder or one of the batches is absent.
        ValueError: the archive or a batch is damaged, or a label is above 9.
    """
    _require_folder(folder)
    contents = _cifar_contents(folder)
    batches = [decode_cifar(contents[name], name=f"{folder}: {name}") for name in CIFAR_FILES]
    images = [batch_images for batch_images, _ in batches]
    labels = [batch_labels for _, batch_labels in batches]
    return RawImages(
        np.concatenate(images[:-1]),
        np.concatenate(labels[:-1]),
        images[-1],
        labels[-1],
        _digest([contents[name] for name in CIFAR_FILES]),
    )


def decode_cifar(content: bytes, *, name: str) -> tuple[Bytes, Bytes]:
    """Images [n, 3, 32, 32] and labels [n] of one batch: records of a label byte and three planes, red first.

    Raises:
        ValueError: no records, a length that is not whole records, or a label above 9.
    """
    record_bytes = 1 + math.prod(CIFAR_SHAPE)
    if not content or len(content) % record_bytes:
        raise ValueError(f"{name}: {len(content)} bytes are not one or more records of {record_bytes} bytes")
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, record_bytes)
    images, labels = records[:, 1:].reshape(-1, *CIFAR_SHAPE), records[:, 0]
    _require_matching(images, labels, name=name)
    return images, labels


def _cifar_contents(folder: Path) -> Mapping[str, bytes]:
    if (folder / CIFAR_ARCHIVE).is_file():
        return _archive_contents(folder / CIFAR_ARCHIVE)
    for batches in (folder, folder / CIFAR_BATCHES_FOLDER):
        if any((batches / name).is_file() for name in CIFAR_FILES):
            return {name: (batches / name).read_bytes() for name in CIFAR_FILES}
    raise FileNotFoundError(
        f"{folder}: neither {CIFAR_ARCHIVE} nor {CIFAR_FILES[0]} (CIFAR-10's Python version is not read)"
    )


def _archive_contents(archive: Path) -> Mapping[str, bytes]:
    """The batches in `archive`, none of which is unpacked to disk.

    The whole stream is decompressed first: tarfile alone stops before the gzip checksum and would miss damage.
    """
    wanted = {f"{CIFAR_BATCHES_FOLDER}/{name}": name for name in CIFAR_FILES}
    contents = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_decompressed(archive)), mode="r:") as members:
            for member in members:
                stream = members.extractfile(member) if member.name in wanted and member.isfile() else None
                if stream is not None:
                    contents[wanted[member.name]] = stream.read()
    except tarfile.TarError as error:
        raise ValueError(f"{archive}: damaged archive ({error})") from error
    missing = [name for name in CIFAR_FILES if name not in contents]
    if missing:
        raise ValueError(f"{archive}: no regular file {', '.join(missing)} in {CIFAR_BATCHES_FOLDER}/")
    return contents


def _read_plain_or_gzip(path: Path) -> bytes:
    if path.is_file():
        return path.read_bytes()
    compressed = path.with_name(f"{path.name}.gz")
    if not compressed.is_file():
        raise FileNotFoundError(f"{path}: no such file, nor {compressed.name}")
    return _decompressed(compressed)


def _decompressed(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: damaged gzip file ({error})") from error


def _require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder")


def _require_matching(images: Bytes, labels: Bytes, *, name: str) -> None:
    if len(images) != len(labels):
        raise ValueError(f"{name}: {len(images)} images but {len(labels)} labels")
    if labels.max() >= CLASS_COUNT:
        raise ValueError(f"{name}: label {labels.max()}, but labels are 0 to {CLASS_COUNT - 1}")


def _digest(contents: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()
