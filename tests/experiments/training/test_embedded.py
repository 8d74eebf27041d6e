"""The embedded subset is what its README says, and is made of images of Fashion-MNIST."""

import hashlib
import re
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.experiments.embedded.make_subset import choose, main, make_subset
from sparsync.experiments.training.data import (
    EMBEDDED_FILE,
    EMBEDDED_SHA256,
    FASHION_MNIST_SHA256,
    FASHION_MNIST_SYSTEM_FOLDER,
    load_dataset,
    read_embedded,
)
from sparsync.experiments.training.formats import RawImages, read_idx_folder

README = (EMBEDDED_FILE.parent / "README.md").read_text(encoding="utf-8")
NEEDS_DEBIAN_PACKAGE = pytest.mark.skipif(
    not FASHION_MNIST_SYSTEM_FOLDER.is_dir(), reason="the Debian package dataset-fashion-mnist is not installed"
)
NEEDS_ZLIB = pytest.mark.skipif(
    "ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng compresses the same arrays to other bytes"
)


@pytest.fixture(scope="module")
def subset() -> RawImages:
    return read_embedded(None, Path())


def keys(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> list[bytes]:
    return [image.tobytes() + bytes([label]) for image, label in zip(images, labels, strict=True)]


def test_the_embedded_dataset_has_the_promised_shape() -> None:
    dataset = load_dataset("embedded")
    assert (dataset.name, dataset.image_shape, dataset.class_count) == ("embedded", (1, 28, 28), 10)
    assert dataset.train_images.shape == (12_000, dataset.feature_count)
    assert dataset.test_images.shape == (2_000, dataset.feature_count)
    assert dataset.sha256 == EMBEDDED_SHA256


def test_classes_are_balanced_in_both_splits(subset: RawImages) -> None:
    assert np.bincount(subset.train_labels).tolist() == [1_200] * 10
    assert np.bincount(subset.test_labels).tolist() == [200] * 10


def test_any_long_prefix_is_a_mix_of_the_classes(subset: RawImages) -> None:
    is_class = subset.train_labels[:, None] == np.arange(10)
    counts = np.cumsum(is_class, axis=0)[999:]
    lengths = np.arange(1_000, 12_001)[:, None]
    # A class's count in a random prefix of length n is hypergeometric, of variance at most 0.09 n; six deviations
    # leave room for the maximum over all prefixes and classes. A file sorted by class misses by far.
    assert float((np.abs(counts - lengths / 10) / np.sqrt(0.09 * lengths)).max()) < 6


def test_the_archive_holds_unsigned_bytes_under_four_keys() -> None:
    with np.load(EMBEDDED_FILE, allow_pickle=False) as arrays:
        shapes = {name: (arrays[name].dtype, arrays[name].shape) for name in arrays.files}
    assert shapes == {
        "train_images": (np.uint8, (12_000, 28, 28)),
        "train_labels": (np.uint8, (12_000,)),
        "test_images": (np.uint8, (2_000, 28, 28)),
        "test_labels": (np.uint8, (2_000,)),
    }


def test_no_training_image_is_there_twice_under_two_labels(subset: RawImages) -> None:
    images = {image.tobytes() for image in subset.train_images}
    assert len(images) == len(set(keys(subset.train_images, subset.train_labels)))


def test_the_readme_states_the_files_size_and_digests() -> None:
    content = EMBEDDED_FILE.read_bytes()
    assert len(content) < 7_000_000
    assert f"| size | {len(content)} bytes |" in README
    assert re.findall(r"[0-9a-f]{64}", README) == [hashlib.sha256(content).hexdigest(), FASHION_MNIST_SHA256]


def test_the_licence_names_its_owner() -> None:
    licence = (EMBEDDED_FILE.parent / "LICENSE").read_text(encoding="utf-8")
    assert "Copyright (c) 2017 Zalando SE" in licence
    assert "Permission is hereby granted, free of charge" in licence


@given(counts=st.lists(st.integers(3, 9), min_size=10, max_size=10), seed=st.integers(0, 2**32 - 1))
def test_choose_takes_distinct_images_equally_from_every_class(counts: list[int], seed: int) -> None:
    labels = np.repeat(np.arange(10, dtype=np.uint8), counts)
    chosen = choose(labels, per_class=3, generator=np.random.default_rng(seed))
    assert len(set(chosen.tolist())) == 30
    assert np.bincount(labels[chosen]).tolist() == [3] * 10


def test_choose_refuses_a_class_with_too_few_images() -> None:
    labels = np.repeat(np.arange(10, dtype=np.uint8), [3, 3, 3, 3, 2, 3, 3, 3, 3, 3])
    with pytest.raises(ValueError, match="class 4 has 2 images, fewer than 3"):
        choose(labels, per_class=3, generator=np.random.default_rng(0))


def test_an_absent_source_folder_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "subset.npz"
    arguments = ["make_subset", "--source", str(tmp_path / "absent"), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(FileNotFoundError, match="absent: no such folder"):
        main()
    assert not output.exists()


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["make_subset", "--source", "/nowhere", "--output", "/nowhere/subset.npz"])
    with pytest.raises(SystemExit, match=r"^2$"):
        main()
    assert "the output folder /nowhere does not exist" in capsys.readouterr().err


@NEEDS_DEBIAN_PACKAGE
def test_the_subset_is_made_of_images_of_the_matching_split(subset: RawImages) -> None:
    full = read_idx_folder(FASHION_MNIST_SYSTEM_FOLDER)
    assert set(keys(subset.train_images, subset.train_labels)) <= set(keys(full.train_images, full.train_labels))
    assert set(keys(subset.test_images, subset.test_labels)) <= set(keys(full.test_images, full.test_labels))


@NEEDS_DEBIAN_PACKAGE
@NEEDS_ZLIB
def test_the_script_remakes_the_file_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "subset.npz"
    monkeypatch.setattr(sys, "argv", ["make_subset", "--output", str(output)])
    main()
    assert output.read_bytes() == EMBEDDED_FILE.read_bytes()
    assert EMBEDDED_SHA256 in capsys.readouterr().out


@NEEDS_DEBIAN_PACKAGE
def test_the_script_remakes_the_same_arrays(tmp_path: Path) -> None:
    remade = tmp_path / "subset.npz"
    remade.write_bytes(make_subset(FASHION_MNIST_SYSTEM_FOLDER))
    with np.load(remade) as ours, np.load(EMBEDDED_FILE) as committed:
        assert ours.files == committed.files
        assert all(np.array_equal(ours[name], committed[name]) for name in ours.files)
