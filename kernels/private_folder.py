"""May code be loaded from a folder? Only where nobody else could have put it there, or could put a folder in its place.

Who may is read from owners and modes of the folder and of those above it, up to one whose owner runs code as this user
anyway: the home folder, or the folder of this package. Root may everywhere, and so may the owner of this package's
files. A group that is one user's alone, as where the umask is 002, counts as that user. Access lists of POSIX are seen,
those of network file systems are not. The rule for folders above is that of OpenSSH for its own files.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ACCESS_LIST = "system.posix_acl_access"
_CREATED_MODE = 0o755


def private_folder(folder: Path) -> Path:
    """The folder without symbolic links, made if need be.

    Raises:
        PermissionError: others may write into it or into what leads to it; the message names whose it is, the mode, and
            what to do.
        OSError: it cannot be made.
    """
    resolved = folder.resolve()
    missing = [place for place in (resolved, *resolved.parents) if not place.exists()]
    for place in reversed(missing):
        # Whatever the umask: what is made here is not for others to write.
        place.mkdir(mode=_CREATED_MODE, exist_ok=True)
    for place in _to_judge(resolved):
        fault = _fault(place.stat(), place, is_above=place != resolved)
        if fault:
            raise PermissionError(f"compiled code is not kept in {resolved}: {place} {fault}")
    return resolved


def is_private_file(path: Path) -> bool:
    """Is it a file, no link to one, that nobody else can have written?

    Raises:
        OSError: its folder cannot be searched.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and not _fault(found, path, is_above=False)


def _to_judge(folder: Path) -> Iterator[Path]:
    """The folder, and those above it that could give its name to another."""
    yield folder
    trusted = _trusted_folders()
    for place in folder.parents:
        if place in trusted:
            return
        yield place


def _trusted_folders() -> set[Path]:
    try:
        return {PACKAGE, Path.home().resolve()}
    except RuntimeError:  # A user without a home.
        return {PACKAGE}


def _fault(found: os.stat_result, place: Path, *, is_above: bool) -> str:
    """Who else may write there and what to do against it; empty if nobody may.

    In a folder with the sticky bit only its owner and an entry's may rename the entry.
    """
    elsewhere = "set SPARSYNC_CACHE to a folder of your own"
    if found.st_uid not in {os.geteuid(), 0, PACKAGE.stat().st_uid}:
        return f"belongs to user {found.st_uid}, and this is user {os.geteuid()}; {elsewhere}"
    if is_above and found.st_mode & stat.S_ISVTX:
        return ""
    writers = found.st_mode & _OTHERS_MAY_WRITE
    if writers == stat.S_IWGRP and _is_of_one_user(found, place):
        return ""
    if not writers:
        return ""
    mode = stat.S_IMODE(found.st_mode)
    return f"has mode {mode:04o}, so that others may write there; chmod go-w {place}, or {elsewhere}"


def _is_of_one_user(found: os.stat_result, place: Path) -> bool:
    """Is the group the private one of the owner: of the same name, and without other members?

    Root's is not: containers run users without a name in it.
    """
    if found.st_gid == 0 or _ACCESS_LIST in _extended_attributes(place):
        return False
    try:
        owner, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    return group.gr_name == owner.pw_name and set(group.gr_mem) <= {owner.pw_name}


def _extended_attributes(place: Path) -> list[str]:
    """None where the system or the file system has none."""
    try:
        return os.listxattr(place)
    except (AttributeError, OSError):
        return []
