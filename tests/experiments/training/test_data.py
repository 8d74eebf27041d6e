"""Every source loads into scaled tensors, downloads are checked, and failures leave nothing behind."""

import gzip
import hashlib
import io
import math
import struct
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.experiments.training.data import (
    CIFAR10,
    EMBEDDED_FILE,
    FASHION_MNIST,
    FASHION_MNIST_SHA256,
    FASHION_MNIST_SYSTEM_FOLDER,
    PIXEL_SCALES,
    SOURCES,
    Publication,
    as_dataset,
    download,
    load_dataset,
    read_cifar10,
    read_embedded,
    read_fashion_mnist,
)
from sparsync.experiments.training.formats import (
    CIFAR_ARCHIVE,
    CIFAR_BATCHES_FOLDER,
    CIFAR_FILES,
    IDX_FILES,
    RawImages,
    read_idx_folder,
)

Server = Callable[..., Publication]

NEEDS_DEBIAN_PACKAGE = pytest.mark.skipif(
    not FASHION_MNIST_SYSTEM_FOLDER.is_dir(), reason="the Debian package dataset-fashion-mnist is not installed"
)
# Upstream's gzip headers, which Debian replaced: seconds since 1970, as `gzip` recorded them.
UPSTREAM_SECONDS: dict[str, int] = dict(zip(IDX_FILES, [1504176606, 1504176606, 1504176627, 1504176627], strict=True))


def idx(array: NDArray[np.uint8]) -> bytes:
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_idx_folder(folder: Path) -> Path:
    generator = np.random.default_rng(0)
    sizes = [(6, 2, 3), (6,), (4, 2, 3), (4,)]
    arrays = [generator.integers(0, 256 if len(size) == 3 else 10, size=size, dtype=np.uint8) for size in sizes]
    folder.mkdir(parents=True)
    for name, array in zip(IDX_FILES, arrays, strict=True):
        (folder / name).write_bytes(idx(array))
    return folder


def cifar_archive() -> bytes:
    generator = np.random.default_rng(0)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in CIFAR_FILES:
            member = tarfile.TarInfo(f"{CIFAR_BATCHES_FOLDER}/{name}")
            content = bytes([3]) + generator.bytes(3072)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def upstream_file(name: str) -> bytes:
    debian = (FASHION_MNIST_SYSTEM_FOLDER / f"{name}.gz").read_bytes()
    header = b"\x1f\x8b\x08\x08" + struct.pack("<I", UPSTREAM_SECONDS[name]) + debian[8:10]
    return header + name.encode() + b"\0" + debian[10:]


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def raw_images(train: NDArray[np.uint8], test: NDArray[np.uint8]) -> RawImages:
    labels = [np.zeros(len(images), dtype=np.uint8) for images in (train, test)]
    return RawImages(train, labels[0], test, labels[1], "0" * 64)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Start servers on the loopback; `sent` gives, per address, the bytes sent where they are not those promised."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    servers: list[ThreadingHTTPServer] = []

    def start(files: Mapping[str, bytes], *, sent: Mapping[str, bytes] | None = None) -> Publication:
        bodies = {f"/{name}": (content, (sent or {}).get(name, content)) for name, content in files.items()}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                promised, actual = bodies[self.path]
                self.send_response(200)
                self.send_header("Content-Length", str(len(promised)))
                self.end_headers()
                self.wfile.write(actual)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        return Publication(base_url=f"http://127.0.0.1:{server.server_port}/", sha256=digests)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_fashion_mnist_folder_loads_flat_rows_and_labels(tmp_path: Path) -> None:
    folder = write_idx_folder(tmp_path / "idx")
    dataset, raw = load_dataset(f"fashion_mnist:{folder}"), read_idx_folder(folder)
    assert (dataset.name, dataset.image_shape, dataset.feature_count) == ("fashion_mnist", (1, 2, 3), 6)
    assert (dataset.class_count, dataset.sha256) == (10, raw.sha256)
    assert dataset.train_images.shape == (6, 6)
    assert dataset.train_images.dtype == dataset.test_images.dtype == torch.float32
    assert dataset.train_labels.dtype == dataset.test_labels.dtype == torch.int64
    assert dataset.train_labels.tolist() == raw.train_labels.tolist()
    assert dataset.test_labels.tolist() == raw.test_labels.tolist()


def test_cifar_archive_loads_three_channels(tmp_path: Path) -> None:
    (tmp_path / CIFAR_ARCHIVE).write_bytes(cifar_archive())
    dataset = load_dataset(f"cifar10:{tmp_path}")
    assert (dataset.name, dataset.image_shape, dataset.feature_count) == ("cifar10", (3, 32, 32), 3072)
    assert dataset.train_images.shape == (5, 3072)
    assert dataset.test_images.shape == (1, 3072)
    assert dataset.train_labels.tolist() == [3] * 5


def test_a_tilde_in_the_folder_means_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_idx_folder(tmp_path / "idx")
    assert load_dataset("fashion_mnist:~/idx").train_images.shape == (6, 6)


@given(seed=st.integers(0, 2**32 - 1), channels=st.integers(1, 3), height=st.integers(2, 5))
def test_standardised_pixels_are_the_rounded_float64_formula(seed: int, channels: int, height: int) -> None:
    generator = np.random.default_rng(seed)
    train = generator.integers(0, 256, size=(7, channels, height, 4), dtype=np.uint8)
    test = generator.integers(0, 256, size=(3, channels, height, 4), dtype=np.uint8)
    dataset = as_dataset(raw_images(train, test), name="synthetic", pixels="standardised")
    scaled_train, scaled_test = train / 255, test / 255
    mean = scaled_train.mean(axis=(0, 2, 3), keepdims=True)
    deviation = scaled_train.std(axis=(0, 2, 3), keepdims=True)
    # One rounding to float32 moves x by at most |x| 2^-24; float64 noise is some 2^-48, so 2^-23 covers both.
    for images, scaled in ((dataset.train_images, scaled_train), (dataset.test_images, scaled_test)):
        expected = ((scaled - mean) / deviation).reshape(len(scaled), -1)
        np.testing.assert_allclose(images.numpy(), expected, rtol=2.0**-23, atol=2.0**-40)


def test_each_channel_of_the_training_images_has_mean_zero_and_deviation_one() -> None:
    generator = np.random.default_rng(1)
    train = (generator.integers(0, 256, size=(50, 3, 4, 4)) // np.array([1, 2, 8])[:, None, None]).astype(np.uint8)
    dataset = as_dataset(raw_images(train, train), name="synthetic", pixels="standardised")
    by_channel = dataset.train_images.reshape(50, 3, 16).to(torch.float64)
    # Each entry x was rounded once, by at most |x| 2^-24, so a mean or deviation moves by at most max|x| 2^-24.
    tolerance = float(by_channel.abs().max()) * 2.0**-24 + 2.0**-40
    assert float(by_channel.mean(dim=(0, 2)).abs().max()) <= tolerance
    assert float((by_channel.std(dim=(0, 2), correction=0) - 1).abs().max()) <= tolerance


def test_test_images_do_not_influence_the_standardisation() -> None:
    generator = np.random.default_rng(2)
    train, test = (generator.integers(0, 256, size=(4, 1, 3, 3), dtype=np.uint8) for _ in range(2))
    one = as_dataset(raw_images(train, test), name="synthetic", pixels="standardised")
    other = as_dataset(raw_images(train, 255 - test), name="synthetic", pixels="standardised")
    assert torch.equal(one.train_images, other.train_images)


def test_unit_pixels_are_the_byte_over_255_rounded_once() -> None:
    images = np.arange(512, dtype=np.uint16).astype(np.uint8).reshape(2, 2, 8, 16)
    dataset = as_dataset(raw_images(images, images[::-1]), name="synthetic", pixels="unit")
    expected = np.float32(images / 255).reshape(2, 256)
    np.testing.assert_array_equal(dataset.train_images.numpy(), expected, strict=True)
    np.testing.assert_array_equal(dataset.test_images.numpy(), expected[::-1], strict=True)


def test_the_scale_is_chosen_by_name_and_is_unit_by_default(tmp_path: Path) -> None:
    source = f"fashion_mnist:{write_idx_folder(tmp_path / 'idx')}"
    unit, standardised = (load_dataset(source, pixels=scale) for scale in PIXEL_SCALES)
    raw = read_idx_folder(tmp_path / "idx")
    np.testing.assert_array_equal((unit.train_images * 255).round().numpy(), raw.train_images.reshape(6, 6))
    assert torch.equal(load_dataset(source).train_images, unit.train_images)
    assert not torch.equal(unit.train_images, standardised.train_images)
    assert unit.sha256 == standardised.sha256


def test_an_unknown_scale_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    scale: Any = "raw"
    with pytest.raises(ValueError, match="unknown scale of pixels 'raw'; known: unit, standardised"):
        load_dataset(f"fashion_mnist:{tmp_path / 'absent'}", pixels=scale)
    images = np.zeros((1, 1, 1, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="unknown scale of pixels 'raw'"):
        as_dataset(raw_images(images, images), name="synthetic", pixels=scale)


@pytest.mark.parametrize("level", [0, 7, 255])
def test_a_constant_training_channel_is_an_error(level: int) -> None:
    images = np.random.default_rng(3).integers(0, 256, size=(4, 2, 3, 3), dtype=np.uint8)
    images[:, 1] = level
    with pytest.raises(ValueError, match="channel 1 of the training images is constant"):
        as_dataset(raw_images(images, images), name="synthetic", pixels="standardised")


@pytest.mark.parametrize("source", ["", "mnist", "Embedded", "fashion_mnist:", "cifar10:", ":folder", "embedded "])
def test_an_unknown_source_is_an_error_that_lists_the_known_ones(source: str) -> None:
    with pytest.raises(ValueError, match=f"unknown data source '{source}'; known: {', '.join(SOURCES)}"):
        load_dataset(source)


@pytest.mark.parametrize("name", ["fashion_mnist", "cifar10"])
def test_an_absent_folder_is_an_error_and_never_a_download(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match="absent: no such folder"):
        load_dataset(f"{name}:{tmp_path / 'absent'}", cache_folder=tmp_path / "cache")
    assert files_under(tmp_path) == []


def test_the_embedded_source_takes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"not from '{tmp_path}'"):
        load_dataset(f"embedded:{tmp_path}")


def test_a_damaged_embedded_file_is_noticed(tmp_path: Path) -> None:
    content = bytearray(EMBEDDED_FILE.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged\.npz: SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}"):
        read_embedded(None, tmp_path, file=damaged)


def test_an_absent_embedded_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.npz"):
        read_embedded(None, tmp_path, file=tmp_path / "absent.npz")


@pytest.mark.parametrize("name", SOURCES)
def test_a_dataset_carries_its_sources_name_and_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    images = np.arange(12, dtype=np.uint8).reshape(2, 1, 2, 3)
    monkeypatch.setitem(SOURCES, name, lambda *_: raw_images(images, images))
    dataset = load_dataset(name, cache_folder=tmp_path)
    assert (dataset.name, dataset.image_shape, dataset.feature_count) == (name, (1, 2, 3), 6)


def test_without_a_cache_folder_the_users_own_is_handed_to_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.arange(12, dtype=np.uint8).reshape(2, 1, 2, 3)
    seen: list[Path | None] = []

    def reader(folder: Path | None, cache_folder: Path) -> RawImages:
        seen.extend([folder, cache_folder])
        return raw_images(images, images)

    monkeypatch.setitem(SOURCES, "cifar10", reader)
    load_dataset("cifar10")
    load_dataset("cifar10:given", cache_folder=Path("cache"))
    assert seen == [None, Path(pooch.os_cache("sparsync")), Path("given"), Path("cache")]


def test_a_download_is_kept_and_used_again_without_a_server(tmp_path: Path, serve: Server) -> None:
    archive = cifar_archive()
    publication = serve({CIFAR_ARCHIVE: archive})
    first = read_cifar10(None, tmp_path, publication=publication)
    unreachable = Publication(base_url="http://127.0.0.1:1/", sha256=publication.sha256)
    second = read_cifar10(None, tmp_path, publication=unreachable)
    assert first.sha256 == second.sha256
    assert [path.read_bytes() for path in files_under(tmp_path)] == [archive]


def test_a_damaged_file_in_the_cache_is_fetched_again(tmp_path: Path, serve: Server) -> None:
    (tmp_path / "file").write_bytes(b"damaged")
    download(serve({"file": b"published"}), tmp_path)
    assert (tmp_path / "file").read_bytes() == b"published"


@pytest.mark.parametrize("actual", [b"", b"publi"])
def test_a_truncated_download_is_an_error_and_leaves_no_file(tmp_path: Path, serve: Server, actual: bytes) -> None:
    publication = serve({"file": b"published"}, sent={"file": actual})
    with pytest.raises(OSError, match="/file could not be downloaded"):
        download(publication, tmp_path)
    assert files_under(tmp_path) == []


def test_wrong_bytes_are_an_error_and_leave_no_file(tmp_path: Path, serve: Server) -> None:
    publication = serve({"file": b"published"}, sent={"file": b"something"})
    with pytest.raises(ValueError, match=f"(file).*expected sha256:{publication.sha256['file']}"):
        download(publication, tmp_path)
    assert files_under(tmp_path) == []


def test_an_unreachable_server_is_an_error_that_names_the_address(tmp_path: Path, serve: Server) -> None:
    publication = Publication(base_url="http://127.0.0.1:1/", sha256={"file": "0" * 64})
    with pytest.raises(OSError, match=r"http://127\.0\.0\.1:1/file could not be downloaded"):
        download(publication, tmp_path)
    assert files_under(tmp_path) == []


def test_files_fetched_before_a_failure_are_kept_whole(tmp_path: Path, serve: Server) -> None:
    publication = serve({"first": b"published", "second": b"published too"}, sent={"second": b"publ"})
    with pytest.raises(OSError, match="/second could not be downloaded"):
        download(publication, tmp_path)
    assert [(path.name, path.read_bytes()) for path in files_under(tmp_path)] == [("first", b"published")]


def test_downloaded_idx_files_other_than_the_published_ones_are_refused(tmp_path: Path, serve: Server) -> None:
    folder = write_idx_folder(tmp_path / "idx")
    publication = serve({f"{name}.gz": gzip.compress((folder / name).read_bytes()) for name in IDX_FILES})
    with pytest.raises(ValueError, match=f"fashion_mnist: SHA-256 [0-9a-f]+, expected {FASHION_MNIST_SHA256}"):
        read_fashion_mnist(None, tmp_path / "cache", publication=publication, system_folder=tmp_path / "not installed")


def test_an_installed_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    folder = write_idx_folder(tmp_path / "installed")
    with pytest.raises(ValueError, match="installed: SHA-256"):
        read_fashion_mnist(None, tmp_path / "cache", system_folder=folder)


@pytest.mark.parametrize("publication", [FASHION_MNIST, CIFAR10])
def test_publications_name_files_by_sha256_at_an_address_that_can_be_extended(publication: Publication) -> None:
    assert publication.base_url.endswith("/")
    assert all(len(bytes.fromhex(digest)) == 32 for digest in publication.sha256.values())


def test_the_publications_list_exactly_the_files_that_are_read() -> None:
    assert list(FASHION_MNIST.sha256) == [f"{name}.gz" for name in IDX_FILES]
    assert list(CIFAR10.sha256) == [CIFAR_ARCHIVE]


@NEEDS_DEBIAN_PACKAGE
def test_upstreams_own_files_download_under_the_published_digests(tmp_path: Path, serve: Server) -> None:
    files = {f"{name}.gz": upstream_file(name) for name in IDX_FILES}
    served = serve(files)
    publication = Publication(base_url=served.base_url, sha256=FASHION_MNIST.sha256)
    raw = read_fashion_mnist(None, tmp_path, publication=publication, system_folder=tmp_path / "not installed")
    assert dict(served.sha256) == dict(FASHION_MNIST.sha256)
    assert raw.sha256 == FASHION_MNIST_SHA256


@NEEDS_DEBIAN_PACKAGE
def test_debians_fashion_mnist_is_the_published_one_and_balanced(tmp_path: Path) -> None:
    dataset = load_dataset("fashion_mnist", pixels="standardised", cache_folder=tmp_path)
    assert dataset.sha256 == FASHION_MNIST_SHA256
    assert dataset.train_images.shape == (60_000, 784)
    assert dataset.test_images.shape == (10_000, 784)
    assert dataset.train_labels.bincount().tolist() == [6_000] * 10
    assert dataset.test_labels.bincount().tolist() == [1_000] * 10
    # A black pixel under the mean and deviation usually quoted, 0.2860 and 0.3530: four digits each leave
    # 0.8102 (0.00005/0.2860 + 0.00005/0.3530) < 3e-4.
    assert math.isclose(float(dataset.train_images.min()), -0.2860 / 0.3530, abs_tol=3e-4)
    assert files_under(tmp_path) == []
