"""Windows hold every byte of a text once, with the one that follows; the embedded book is that of its note."""

from __future__ import annotations

import hashlib
import lzma
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.data import as_text, kind_of, load_dataset
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.text import (
    EMBEDDED_TEXT_FILE,
    EMBEDDED_TEXT_SHA256,
    TOKEN_COUNT,
    WINDOW,
    read_text,
    split_text,
)

NOTE = EMBEDDED_TEXT_FILE.with_name("bible_kjv.md").read_text(encoding="utf-8")
SHORTEST = 1290


@given(st.binary(min_size=SHORTEST, max_size=SHORTEST + 3 * WINDOW))
def test_windows_are_the_text_in_order_each_token_with_the_next(content: bytes) -> None:
    parts = (content[: len(content) * 9 // 10], content[len(content) * 9 // 10 :])
    for windows, part in zip(split_text(content), parts, strict=True):
        held = bytes(windows.tokens.flatten().tolist())
        assert held == part[: len(held)]
        assert bytes(windows.following.flatten().tolist()) == part[1 : len(held) + 1]
        assert windows.tokens.shape == windows.following.shape == (len(held) // WINDOW, WINDOW)
        assert 0 < len(part) - len(held) <= WINDOW


def test_windows_of_a_part_share_its_memory() -> None:
    train, _ = split_text(bytes(SHORTEST))
    assert train.tokens.untyped_storage().data_ptr() == train.following.untyped_storage().data_ptr()


def test_the_embedded_text_is_the_book_that_its_note_describes() -> None:
    content = read_text(None)
    assert hashlib.sha256(content).hexdigest() == EMBEDDED_TEXT_SHA256
    assert re.findall(r"[0-9a-f]{64}", NOTE) == [EMBEDDED_TEXT_SHA256]
    assert f"all of it ASCII | {len(content)} bytes |" in NOTE
    assert f"compressed | {EMBEDDED_TEXT_FILE.stat().st_size} bytes |" in NOTE
    assert content.isascii()
    assert len(content) > 1_000_000 > EMBEDDED_TEXT_FILE.stat().st_size
    assert content.startswith(b"Ge1:1 In the beginning God created the heaven and the earth.\n")
    assert content.count(b"\n") == 31_102


def test_the_embedded_text_is_a_dataset_of_windows() -> None:
    data = load_dataset("text")
    assert (data.name, data.kind, data.class_count, data.feature_count) == ("text", "text", TOKEN_COUNT, WINDOW)
    assert (data.train_images.shape, data.test_images.shape) == ((30_968, WINDOW), (3_440, WINDOW))
    assert data.train_labels.shape == data.train_images.shape
    assert data.sha256 == EMBEDDED_TEXT_SHA256


def test_any_file_is_a_text_and_the_same_text_has_the_same_digest(tmp_path: Path) -> None:
    file = tmp_path / "my: text.bin"
    file.write_bytes(bytes(range(256)) * 6)
    data = load_dataset(f"text:{file}")
    assert data.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert data.train_images[1].tolist() == list(range(128, 256))
    assert data.train_labels[1].tolist() == [*range(129, 256), 0]
    file.write_bytes(read_text(None))
    assert load_dataset(f"text:{file}").sha256 == EMBEDDED_TEXT_SHA256


def test_a_text_without_a_window_for_both_parts_is_refused_and_one_byte_more_is_not(tmp_path: Path) -> None:
    file = tmp_path / "short.txt"
    file.write_bytes(bytes(SHORTEST - 1))
    with pytest.raises(
        ValueError, match=r"short\.txt: 1289 bytes, but windows of 128 for training and tests take 1290"
    ):
        load_dataset(f"text:{file}")
    file.write_bytes(bytes(SHORTEST))
    assert len(load_dataset(f"text:{file}").test_images) == 1


@pytest.mark.parametrize("name", ["absent.txt", "."])
def test_a_file_that_is_none_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_dataset(f"text:{tmp_path / name}")


def test_text_has_no_scale_of_pixels() -> None:
    with pytest.raises(ValueError, match="text has no pixels that could be 'standardised'"):
        load_dataset("text", pixels="standardised")
    with pytest.raises(ValueError, match="unknown data source 'text:'; known: embedded, fashion_mnist, cifar10, text,"):
        load_dataset("text:")


def test_a_damaged_book_or_another_one_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "book.xz"
    file.write_bytes(b"no xz")
    with pytest.raises(ValueError, match=r"book\.xz: damaged xz file"):
        read_text(None, embedded=file)
    file.write_bytes(lzma.compress(b"another book", preset=0))
    with pytest.raises(ValueError, match=rf"book\.xz: SHA-256 [0-9a-f]{{64}}, expected {EMBEDDED_TEXT_SHA256}"):
        read_text(None, embedded=file)


@pytest.mark.parametrize(
    ("source", "kind"), [("text", "text"), ("text:a:b", "text"), ("embedded", "images"), ("texts", "images")]
)
def test_the_kind_of_a_source_is_in_its_name(source: str, kind: str) -> None:
    assert kind_of(source) == kind


def test_data_of_another_kind_than_those_of_the_run_are_refused() -> None:
    text = as_text(bytes(SHORTEST))
    assert text.name == "text"
    with pytest.raises(ValueError, match="model 'fnn3' takes images, and the data are text"):
        simulate(Run(selector="top_k"), text)
