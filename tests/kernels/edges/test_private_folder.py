"""Compiled code is neither kept in nor taken from a folder that others may write; whose it is and its mode are said."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparsync.kernels import native_build, private_folder
from sparsync.kernels.build_cache import Made, cached
from sparsync.kernels.native_build import build
from sparsync.kernels.private_folder import _fault, is_private_file
from sparsync.kernels.private_folder import private_folder as private

FOLDER, USER = 0o040000, 1000
OWNERS = st.sampled_from([0, USER, 1001, 65534])
PERMISSIONS = st.integers(min_value=0, max_value=0o7777)


def status(mode: int, user: int, group: int) -> os.stat_result:
    return os.stat_result((FOLDER | mode, 1, 1, 1, user, group, 0, 0, 0, 0))


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[str, list[str]]]:
    """Name and members by number; user 1000 is `ada`, and runs the test's code."""
    made: dict[int, tuple[str, list[str]]] = {}
    names = {0: "root", USER: "ada", 1001: "eve"}
    monkeypatch.setattr(os, "geteuid", lambda: USER)
    monkeypatch.setattr(private_folder, "PACKAGE", Path("/"))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: SimpleNamespace(pw_name=names[number]))
    monkeypatch.setattr(
        grp, "getgrgid", lambda number: SimpleNamespace(gr_name=made[number][0], gr_mem=made[number][1])
    )
    return made


def made_library(target: Path) -> Made:
    def make(scratch: Path, output: Path) -> Made:
        output.write_bytes(b"made here")
        return Made(("cpu",), "")

    return cached(target, make)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757, 0o775, 0o2770])
def test_a_folder_that_others_may_write_is_refused_with_its_mode_and_what_to_do(
    mode: int, tmp_path: Path, groups: dict[int, tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", os.getuid)
    groups[tmp_path.stat().st_gid] = "staff", []
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError) as caught:
        made_library(folder / "library.so")
    expected = (
        f"{folder} has mode {mode:04o}, so that others may write there; chmod go-w {folder}, or set SPARSYNC_CACHE"
    )
    assert expected in str(caught.value)
    assert list(folder.iterdir()) == []
    folder.chmod(mode & ~0o022)
    assert made_library(folder / "library.so").devices == ("cpu",)


def test_a_folder_below_one_that_others_may_write_is_refused_unless_that_is_sticky(tmp_path: Path) -> None:
    above, folder = tmp_path / "above", tmp_path / "above" / "mine" / "cache"
    folder.mkdir(parents=True)
    above.chmod(0o777)
    with pytest.raises(PermissionError, match=f"kept in {folder}: {above} has mode 0777"):
        private(folder)
    above.chmod(0o1777)
    assert private(folder) == folder


def test_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    folder, link = tmp_path / "open" / "cache", tmp_path / "link"
    folder.mkdir(parents=True)
    link.symlink_to(folder)
    assert private(link) == folder
    folder.parent.chmod(0o777)
    with pytest.raises(PermissionError, match=f"{folder.parent} has mode 0777"):
        private(link)


def test_what_is_made_is_for_nobody_else_to_write_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made_library(tmp_path / "build" / "native" / "library.so")
    finally:
        os.umask(before)
    made = [path for path in (tmp_path / "build").rglob("*") if path.suffix != ".lock"]
    assert {path.name for path in made} == {"native", "library.so", "library.json"}
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o022 for path in [tmp_path / "build", *made])


def with_rights_for_all(library: Path) -> None:
    library.chmod(0o666)


def with_a_note_for_all_to_write(library: Path) -> None:
    library.with_suffix(".json").chmod(0o666)


def as_a_link(library: Path) -> None:
    library.rename(library.with_name("elsewhere"))
    library.symlink_to(library.with_name("elsewhere"))


@pytest.mark.parametrize(
    "plant", [with_rights_for_all, with_a_note_for_all_to_write, as_a_link], ids=lambda it: it.__name__
)
def test_what_others_may_have_put_there_while_they_could_is_made_anew(
    plant: Callable[[Path], None], tmp_path: Path
) -> None:
    library = tmp_path / "library.so"
    made_library(library)
    number = library.stat().st_ino
    assert made_library(library).devices == ("cpu",)
    assert library.stat().st_ino == number
    plant(library)
    made_library(library)
    assert is_private_file(library)
    assert not library.is_symlink()
    assert library.lstat().st_ino != number


def test_the_library_is_not_built_where_others_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_build, "digest_of", lambda *_: "0")
    monkeypatch.setenv("CXX", "sh")
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="has mode 0777"):
        build(folder, with_cuda=False)
    assert list(folder.iterdir()) == []


def test_a_library_is_loaded_from_where_it_was_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link in the way may lead elsewhere by then."""
    folder, link = tmp_path / "cache", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    monkeypatch.setattr(native_build, "digest_of", lambda *_: "0")
    monkeypatch.setenv("CXX", "sh")

    def empty(*given: Any) -> Made:
        given[-1].touch()
        return Made(("cpu",), "")

    monkeypatch.setattr(native_build, "_make_native", empty)
    built = build(link, with_cuda=False)
    assert built.path == folder / "libsparsync-0.so"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_the_folder_of_another_user_is_refused_whatever_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.raises(PermissionError, match="belongs to user 12345, and this is user 0; set SPARSYNC_CACHE"):
        made_library(folder / "library.so")


@pytest.mark.parametrize("is_above", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(permissions=PERMISSIONS, user=OWNERS, group=OWNERS)
@pytest.mark.usefixtures("groups")
def test_a_fault_is_found_iff_somebody_else_owns_or_may_write(
    is_above: bool, permissions: int, user: int, group: int
) -> None:
    """No group here is one user's alone. Sticky folders above keep the names of what is in them."""
    is_sticky = is_above and bool(permissions & stat.S_ISVTX)
    is_mine = user in (0, USER)
    is_for_others = bool(permissions & 0o022) and not is_sticky
    fault = _fault(status(permissions, user, group), Path("/nowhere"), is_above=is_above)
    assert bool(fault) == (not is_mine or is_for_others)


@pytest.mark.parametrize(
    ("name", "members", "is_private"),
    [("ada", [], True), ("ada", ["ada"], True), ("ada", ["ada", "eve"], False), ("users", [], False)],
)
def test_a_group_of_the_same_name_without_other_members_is_its_owners(
    name: str, members: list[str], is_private: bool, groups: dict[int, tuple[str, list[str]]]
) -> None:
    """What a umask of 002 leaves where every user has a group."""
    groups[USER] = name, members
    assert bool(_fault(status(0o775, USER, USER), Path("/nowhere"), is_above=True)) != is_private
    assert _fault(status(0o777, USER, USER), Path("/nowhere"), is_above=True)


def test_group_0_is_nobodys_own(groups: dict[int, tuple[str, list[str]]]) -> None:
    """Containers run users of any number in it."""
    groups[0] = "root", []
    assert _fault(status(0o775, 0, 0), Path("/nowhere"), is_above=False)


def test_under_an_access_list_a_group_of_ones_own_says_nothing(
    groups: dict[int, tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group's bits are then the most that any entry of the list allows."""
    groups[USER] = "ada", []
    monkeypatch.setattr(os, "listxattr", lambda _: ["system.posix_acl_access"], raising=False)
    assert _fault(status(0o775, USER, USER), Path("/nowhere"), is_above=False)


def test_whoever_owns_this_package_may_own_the_folder(
    groups: dict[int, tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root in a container uses the checkout of a user outside, who writes the code that root runs anyway."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "belongs to user 1000" in _fault(status(0o755, USER, USER), Path("/nowhere"), is_above=False)
    monkeypatch.setattr(private_folder, "PACKAGE", SimpleNamespace(stat=lambda: status(0o755, USER, USER)))
    assert _fault(status(0o755, USER, USER), Path("/nowhere"), is_above=False) == ""


def test_above_the_home_folder_and_this_package_nothing_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write there runs code as this user anyway: start-up files, or this package."""
    root, folder = tmp_path / "root", tmp_path / "root" / "cache"
    folder.mkdir(parents=True)
    root.chmod(0o777)
    with pytest.raises(PermissionError):
        private(folder)
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(root))
        assert private(folder) == folder
    with monkeypatch.context() as patch:
        patch.setattr(private_folder, "PACKAGE", root)
        assert private(folder) == folder
