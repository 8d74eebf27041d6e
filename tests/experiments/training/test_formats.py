"""IDX and CIFAR-10 files decode to what was written, and every defect is named."""

import gzip
import hashlib
import io
import re
import struct
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.experiments.training.formats import (
    CIFAR_ARCHIVE,
    CIFAR_BATCHES_FOLDER,
    CIFAR_FILES,
    IDX_FILES,
    RawImages,
    decode_cifar,
    decode_idx,
    read_cifar_folder,
    read_idx_folder,
)

Bytes = NDArray[np.uint8]
RECORD_BYTES = 3073


def idx(array: Bytes) -> bytes:
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def idx_contents() -> dict[str, bytes]:
    images = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
    labels = np.array([0, 9, 3, 3, 1], dtype=np.uint8)
    return dict(zip(IDX_FILES, [idx(images[:3]), idx(labels[:3]), idx(images[3:]), idx(labels[3:])], strict=True))


def write_files(folder: Path, contents: Mapping[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def cifar_contents() -> dict[str, bytes]:
    generator = np.random.default_rng(0)
    batches = generator.integers(0, 256, size=(len(CIFAR_FILES), 2, RECORD_BYTES), dtype=np.uint8)
    batches[:, :, 0] %= 10
    return {name: batch.tobytes() for name, batch in zip(CIFAR_FILES, batches, strict=True)}


def cifar_archive(contents: Mapping[str, bytes], folder: str = CIFAR_BATCHES_FOLDER) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@st.composite
def byte_arrays(draw: st.DrawFn) -> Bytes:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    size = int(np.prod(shape))
    return np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype=np.uint8).reshape(shape)


@given(array=byte_arrays())
def test_idx_decodes_to_the_array_that_was_written(array: Bytes) -> None:
    decoded = decode_idx(idx(array), name="file", dimension_count=array.ndim)
    np.testing.assert_array_equal(decoded, array, strict=True)


@given(array=byte_arrays(), data=st.data())
def test_idx_cut_at_any_byte_is_an_error_that_names_the_file(array: Bytes, data: st.DataObject) -> None:
    content = idx(array)
    length = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(ValueError, match=r"the-file: \d+ bytes"):
        decode_idx(content[:length], name="the-file", dimension_count=array.ndim)


@given(array=byte_arrays(), surplus=st.binary(min_size=1, max_size=4))
def test_idx_with_surplus_bytes_is_an_error(array: Bytes, surplus: bytes) -> None:
    with pytest.raises(ValueError, match=r"the-file: \d+ bytes of data"):
        decode_idx(idx(array) + surplus, name="the-file", dimension_count=array.ndim)


@pytest.mark.parametrize("magic", ["01000801", "00010801", "00000d01", "00000803", "1f8b0801"])
def test_idx_with_another_magic_number_is_an_error_that_shows_it(magic: str) -> None:
    content = bytes.fromhex(magic) + idx(np.zeros(3, dtype=np.uint8))[4:]
    with pytest.raises(ValueError, match=f"the-file: magic number {magic}, expected 00000801"):
        decode_idx(content, name="the-file", dimension_count=1)


def test_idx_without_elements_is_an_error() -> None:
    with pytest.raises(ValueError, match=re.escape("the-file: sizes [0, 2, 3] hold no data")):
        decode_idx(idx(np.zeros((0, 2, 3), dtype=np.uint8)), name="the-file", dimension_count=3)


def test_idx_sizes_whose_product_exceeds_64_bits_are_an_error() -> None:
    content = struct.pack(">4B3I", 0, 0, 8, 3, 2**31, 2**31, 4)
    with pytest.raises(ValueError, match=f"need {2**64}"):
        decode_idx(content, name="the-file", dimension_count=3)


def test_idx_folder_keeps_splits_order_and_one_channel(tmp_path: Path) -> None:
    raw = read_idx_folder(write_files(tmp_path, idx_contents()))
    np.testing.assert_array_equal(raw.train_images, np.arange(18, dtype=np.uint8).reshape(3, 1, 2, 3), strict=True)
    np.testing.assert_array_equal(raw.train_labels, np.array([0, 9, 3], dtype=np.uint8), strict=True)
    np.testing.assert_array_equal(raw.test_images, np.arange(18, 30, dtype=np.uint8).reshape(2, 1, 2, 3), strict=True)
    np.testing.assert_array_equal(raw.test_labels, np.array([3, 1], dtype=np.uint8), strict=True)


def test_compressed_and_plain_idx_folders_carry_the_same_digest(tmp_path: Path) -> None:
    contents = idx_contents()
    compressed = {f"{name}.gz": gzip.compress(content) for name, content in contents.items()}
    plain_digest = read_idx_folder(write_files(tmp_path / "plain", contents)).sha256
    assert plain_digest == read_idx_folder(write_files(tmp_path / "compressed", compressed)).sha256
    assert plain_digest == hashlib.sha256(b"".join(contents[name] for name in IDX_FILES)).hexdigest()


@pytest.mark.parametrize("name", IDX_FILES)
def test_a_changed_byte_in_any_idx_file_changes_the_digest(tmp_path: Path, name: str) -> None:
    contents = idx_contents()
    before = read_idx_folder(write_files(tmp_path / "before", contents)).sha256
    contents[name] = contents[name][:-1] + bytes([contents[name][-1] ^ 1])
    assert read_idx_folder(write_files(tmp_path / "after", contents)).sha256 != before


@pytest.mark.parametrize("name", IDX_FILES)
def test_each_absent_idx_file_is_named(tmp_path: Path, name: str) -> None:
    contents = idx_contents()
    del contents[name]
    with pytest.raises(FileNotFoundError, match=name):
        read_idx_folder(write_files(tmp_path, contents))


@pytest.mark.parametrize("name", IDX_FILES)
@pytest.mark.parametrize("kept", ["half", "all but the last byte", "two bytes", "none"])
def test_a_truncated_gzip_file_is_named(tmp_path: Path, name: str, kept: str) -> None:
    contents = {f"{file}.gz": gzip.compress(content) for file, content in idx_contents().items()}
    whole = contents[f"{name}.gz"]
    length = {"half": len(whole) // 2, "all but the last byte": len(whole) - 1, "two bytes": 2, "none": 0}[kept]
    contents[f"{name}.gz"] = whole[:length]
    with pytest.raises(ValueError, match=name):
        read_idx_folder(write_files(tmp_path, contents))


def test_a_gzip_file_with_any_changed_data_byte_is_named(tmp_path: Path) -> None:
    contents = {f"{file}.gz": gzip.compress(content) for file, content in idx_contents().items()}
    name = f"{IDX_FILES[0]}.gz"
    whole, header_bytes = contents[name], 10
    for position in range(header_bytes, len(whole)):
        damaged = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        write_files(tmp_path, contents | {name: damaged})
        with pytest.raises(ValueError, match=f"{name}: damaged gzip file"):
            read_idx_folder(tmp_path)


@pytest.mark.parametrize(("split", "count"), [("train", 3), ("t10k", 2)])
def test_more_images_than_labels_is_an_error_that_counts_both(tmp_path: Path, split: str, count: int) -> None:
    contents = idx_contents()
    contents[f"{split}-labels-idx1-ubyte"] = idx(np.zeros(count - 1, dtype=np.uint8))
    with pytest.raises(ValueError, match=rf"{split}-\*: {count} images but {count - 1} labels"):
        read_idx_folder(write_files(tmp_path, contents))


@pytest.mark.parametrize(("split", "count"), [("train", 3), ("t10k", 2)])
def test_a_label_above_nine_is_an_error_that_shows_it(tmp_path: Path, split: str, count: int) -> None:
    contents = idx_contents()
    contents[f"{split}-labels-idx1-ubyte"] = idx(np.array([0] * (count - 1) + [10], dtype=np.uint8))
    with pytest.raises(ValueError, match=rf"{split}-\*: label 10"):
        read_idx_folder(write_files(tmp_path, contents))


def test_test_images_of_another_size_are_an_error(tmp_path: Path) -> None:
    contents = idx_contents()
    contents["t10k-images-idx3-ubyte"] = idx(np.zeros((2, 3, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match=re.escape("image sizes (2, 3) (train) and (3, 3) (t10k)")):
        read_idx_folder(write_files(tmp_path, contents))


@given(records=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_cifar_decodes_to_planes_and_labels_that_were_written(records: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    images = generator.integers(0, 256, size=(records, 3, 32, 32), dtype=np.uint8)
    labels = generator.integers(0, 10, size=records, dtype=np.uint8)
    content = b"".join(bytes([label]) + image.tobytes() for image, label in zip(images, labels, strict=True))
    decoded_images, decoded_labels = decode_cifar(content, name="batch")
    np.testing.assert_array_equal(decoded_images, images, strict=True)
    np.testing.assert_array_equal(decoded_labels, labels, strict=True)


@given(length=st.integers(0, 3 * RECORD_BYTES).filter(lambda length: length == 0 or length % RECORD_BYTES))
def test_a_cifar_batch_that_is_not_whole_records_is_an_error(length: int) -> None:
    with pytest.raises(ValueError, match=f"the-batch: {length} bytes"):
        decode_cifar(bytes(length), name="the-batch")


def test_a_cifar_label_above_nine_is_an_error_that_shows_it() -> None:
    with pytest.raises(ValueError, match="the-batch: label 10"):
        decode_cifar(bytes([10]) + bytes(RECORD_BYTES - 1), name="the-batch")


def test_cifar_archive_folder_and_parent_folder_carry_the_same_data(tmp_path: Path) -> None:
    contents = cifar_contents()
    batches = write_files(tmp_path / "parent" / CIFAR_BATCHES_FOLDER, contents)
    reversed_contents = dict(reversed(contents.items()))
    archive = write_files(tmp_path / "archive", {CIFAR_ARCHIVE: cifar_archive(reversed_contents)})
    readings = [read_cifar_folder(folder) for folder in (batches, batches.parent, archive)]
    expected = np.stack([np.frombuffer(contents[name], dtype=np.uint8).reshape(2, -1) for name in CIFAR_FILES])
    assert {raw.sha256 for raw in readings} == {hashlib.sha256(expected.tobytes()).hexdigest()}
    for raw in readings:
        np.testing.assert_array_equal(raw.train_images.reshape(10, -1), expected[:5, :, 1:].reshape(10, -1))
        np.testing.assert_array_equal(raw.train_labels, expected[:5, :, 0].reshape(-1))
        np.testing.assert_array_equal(raw.test_images.reshape(2, -1), expected[5, :, 1:])
        np.testing.assert_array_equal(raw.test_labels, expected[5, :, 0])


@pytest.mark.parametrize("name", CIFAR_FILES)
def test_each_absent_cifar_batch_is_named(tmp_path: Path, name: str) -> None:
    contents = cifar_contents()
    del contents[name]
    write_files(tmp_path / "archive", {CIFAR_ARCHIVE: cifar_archive(contents)})
    with pytest.raises(FileNotFoundError, match=name):
        read_cifar_folder(write_files(tmp_path / "batches", contents))
    with pytest.raises(ValueError, match=f"no regular file {name}"):
        read_cifar_folder(tmp_path / "archive")


def test_a_link_in_place_of_a_cifar_batch_is_not_followed(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        link = tarfile.TarInfo(f"{CIFAR_BATCHES_FOLDER}/{CIFAR_FILES[0]}")
        link.type, link.linkname = tarfile.SYMTYPE, CIFAR_FILES[0]
        archive.addfile(link)
    with pytest.raises(ValueError, match=f"no regular file {CIFAR_FILES[0]}"):
        read_cifar_folder(write_files(tmp_path, {CIFAR_ARCHIVE: buffer.getvalue()}))


def test_cifar_batches_under_another_folder_of_the_archive_are_not_taken(tmp_path: Path) -> None:
    archive = cifar_archive(cifar_contents(), folder="../elsewhere")
    with pytest.raises(ValueError, match=f"no regular file {CIFAR_FILES[0]}"):
        read_cifar_folder(write_files(tmp_path, {CIFAR_ARCHIVE: archive}))


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.9999])
def test_a_truncated_cifar_archive_is_named(tmp_path: Path, kept: float) -> None:
    archive = cifar_archive(cifar_contents())
    write_files(tmp_path, {CIFAR_ARCHIVE: archive[: int(kept * len(archive))]})
    with pytest.raises(ValueError, match=CIFAR_ARCHIVE):
        read_cifar_folder(tmp_path)


@pytest.mark.parametrize("kept", [0.05, 0.2, 0.5, 0.7])
def test_a_truncated_tar_inside_a_whole_gzip_file_is_named(tmp_path: Path, kept: float) -> None:
    tar = gzip.decompress(cifar_archive(cifar_contents()))
    write_files(tmp_path, {CIFAR_ARCHIVE: gzip.compress(tar[: int(kept * len(tar))])})
    with pytest.raises(ValueError, match=f"{CIFAR_ARCHIVE}: (damaged archive|no regular file)"):
        read_cifar_folder(tmp_path)


def test_a_damaged_cifar_archive_is_named(tmp_path: Path) -> None:
    archive = bytearray(cifar_archive(cifar_contents()))
    archive[len(archive) // 2] ^= 0xFF
    with pytest.raises(ValueError, match=f"{CIFAR_ARCHIVE}: damaged gzip file"):
        read_cifar_folder(write_files(tmp_path, {CIFAR_ARCHIVE: bytes(archive)}))


def test_the_python_version_of_cifar_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Python version is not read"):
        read_cifar_folder(write_files(tmp_path, {"cifar-10-python.tar.gz": b"", "data_batch_1": b""}))


@pytest.mark.parametrize("read", [read_idx_folder, read_cifar_folder], ids=["idx", "cifar"])
def test_an_absent_folder_is_named(tmp_path: Path, read: Callable[[Path], RawImages]) -> None:
    with pytest.raises(FileNotFoundError, match="absent: no such folder"):
        read(tmp_path / "absent")
