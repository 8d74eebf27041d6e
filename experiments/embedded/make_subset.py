"""How was the embedded subset of Fashion-MNIST chosen? This script remakes the file byte for byte.

    python -m sparsync.experiments.embedded.make_subset --source FOLDER --output FILE

It reads the four published files (Xiao, Rasul and Vollgraf 2017), by default Debian's, and is run by hand;
`experiments/training/data.py` reads what it wrote.
"""

import argparse
import hashlib
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparsync.experiments.training.data import FASHION_MNIST_SYSTEM_FOLDER
from sparsync.experiments.training.formats import CLASS_COUNT, read_idx_folder
from sparsync.verify.tools.provenance import require_output, write_whole

# Any number would do; these are the digits of arXiv 1708.07747.
SEED = 170807747
TRAIN_IMAGES_PER_CLASS = 1200
TEST_IMAGES_PER_CLASS = 200


def choose(labels: NDArray[np.uint8], *, per_class: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Positions [10 · per_class] of `per_class` random images of every class, in random order.

    Raises:
        ValueError: a class has fewer images than that.
    """
    order = generator.permutation(len(labels))
    chosen = [order[labels[order] == label][:per_class] for label in range(CLASS_COUNT)]
    for label, positions in enumerate(chosen):
        if len(positions) < per_class:
            raise ValueError(f"class {label} has {len(positions)} images, fewer than {per_class}")
    return generator.permutation(np.concatenate(chosen))


def make_subset(source: Path) -> bytes:
    """The compressed NumPy archive made from the IDX files in the folder `source`; same source, same bytes.

    Training images come from the training set and test images from the test set. The compressed bytes, not
    the arrays, also depend on zlib: zlib-ng compresses differently.

    Raises:
        FileNotFoundError: an absent folder or file.
        ValueError: a damaged file, or a class with too few images.
    """
    raw = read_idx_folder(source)
    generator = np.random.default_rng(SEED)
    train = choose(raw.train_labels, per_class=TRAIN_IMAGES_PER_CLASS, generator=generator)
    test = choose(raw.test_labels, per_class=TEST_IMAGES_PER_CLASS, generator=generator)
    archive = io.BytesIO()
    np.savez_compressed(
        archive,
        train_images=raw.train_images[train, 0],
        train_labels=raw.train_labels[train],
        test_images=raw.test_images[test, 0],
        test_labels=raw.test_labels[test],
    )
    return archive.getvalue()


def main() -> None:
    """Write the subset and print its size and digest."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.experiments.embedded.make_subset",
        description="Remake the embedded subset of Fashion-MNIST.",
    )
    parser.add_argument("--source", type=Path, default=FASHION_MNIST_SYSTEM_FOLDER, help="folder of the IDX files")
    parser.add_argument("--output", type=Path, required=True, help="file to write (.npz)")
    arguments = parser.parse_args()
    try:
        require_output(arguments.output)
    except ValueError as error:
        parser.error(str(error))
    content = make_subset(arguments.source)
    write_whole(arguments.output, lambda beside: beside.write_bytes(content))
    print(f"{arguments.output}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")  # noqa: T201


if __name__ == "__main__":
    main()
