"""Atomic writes of a folder: all files are written, or none. Files that Equipoise did not write stay unchanged."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from batteries.errors import InputError
from batteries.files.private_files import PRIVATE_FILE, PRIVATE_FOLDER, open_private, private_folder

MANIFEST = "provenance.json"

Content = bytes | Iterable[bytes]
"""Content of a file: all bytes at once, or in parts."""


def write_together(out: Path, files: Mapping[str, Content], manifest: Mapping[str, Any]) -> None:
    """Write `files` into the folder `out`, with a manifest that lists the SHA-256 of each file.

    The keys of `files` are paths within `out`.

    All files are written to a temporary folder first. If `out` does not exist, the temporary folder is next to `out`
    and is renamed to `out` in one step. Otherwise the temporary folder is inside `out`, and the files are moved into
    `out` one by one. The manifest is moved last.

    Files of an earlier analysis that are not in `files` are removed, unless a person changed them. All other files in
    `out` stay unchanged. If a file cannot be moved or removed, the earlier state is restored. The files contain
    responses, so only the owner can read these files and the new folders.

    Raises
    ------
    InputError
        If `out` or a folder inside `out` is a file, or if a file cannot be written. Also if a new file would replace a
        file that is not from an analysis.
    """
    out = out.absolute()
    try:
        _write(out, files, manifest)
    except OSError as error:
        raise _cannot_be_written(out, error) from error


def _write(out: Path, files: Mapping[str, Content], manifest: Mapping[str, Any]) -> None:
    names = (*files, MANIFEST)
    _refuse_blocked_places(out, names)
    earlier = _earlier_files(out)
    for name in files:
        if (out / name).exists() and name not in earlier:
            raise InputError(
                f"{out / name}: this file is not from an analysis, so it is not overwritten. Fix: choose another "
                "output folder."
            )
    private_folder(out.parent)
    beside = out if out.exists() else out.parent
    waiting = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=beside))
    new, old = waiting / "new", waiting / "old"
    try:
        digests = {name: _write_file(new / name, content) for name, content in sorted(files.items())}
        text = json.dumps({**manifest, "files": digests}, indent=2, ensure_ascii=False) + "\n"
        _write_file(new / MANIFEST, text.encode())
        if not out.exists():
            new.rename(out)
        else:
            _exchange(out, new, old, names, _outdated(out, earlier, digests))
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def _write_file(path: Path, content: Content) -> str:
    """Write a file, and return the SHA-256 of its content."""
    private_folder(path.parent)
    digest = hashlib.sha256()
    with open(path, "xb", opener=open_private) as file:
        for part in [content] if isinstance(content, bytes) else content:
            digest.update(part)
            file.write(part)
    return digest.hexdigest()


def _cannot_be_written(place: Path, error: OSError) -> InputError:
    return InputError(
        f"{place}: cannot be written ({error.strerror or error}). Fix: close other programs that use the output "
        "folder, or choose another output folder."
    )


def _refuse_blocked_places(out: Path, names: Sequence[str]) -> None:
    """Raise an InputError if a file is where a folder is needed, or a folder is where a file is needed."""
    for place in (out / name for name in names):
        for folder in place.parents:
            if folder.exists() and not folder.is_dir():
                raise InputError(
                    f"{folder}: this is a file where a folder is needed. Fix: choose another output folder."
                )
        if place.is_dir():
            raise InputError(f"{place}: this is a folder where a file is needed. Fix: choose another output folder.")


def _exchange(out: Path, new: Path, old: Path, names: Sequence[str], outdated: Sequence[str]) -> None:
    """Remove the outdated files, and move the new files into `out`. If a step fails, restore the earlier files."""
    done: list[str] = []
    place = out
    try:
        for place in (out / name for name in (*outdated, *names)):
            if place.exists():
                kept = old / place.relative_to(out)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(place, kept)
        for name in (*outdated, *names):
            place = out / name
            if name in outdated:
                place.unlink()
            else:
                private_folder(place.parent)
                (new / name).replace(place)
            done.append(name)
    except OSError as error:
        for name in done:
            if (old / name).exists():
                (old / name).replace(out / name)
            else:
                (out / name).unlink()
        raise _cannot_be_written(place, error) from error


def _earlier_files(out: Path) -> dict[str, str]:
    """Return the files of the earlier analysis in `out`, with their digests."""
    manifest = out / MANIFEST
    if not manifest.exists():
        return {}
    try:
        files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        return {str(name): str(digest) for name, digest in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        raise InputError(
            f"{manifest}: this file does not list the files of an analysis. Fix: choose another output folder."
        ) from None


def _outdated(out: Path, earlier: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the files of the earlier analysis that the new analysis does not write and that nobody changed."""
    names = []
    for name, digest in earlier.items():
        path = out / name
        inside = out.resolve() in path.resolve().parents
        if name not in now and inside and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            names.append(name)
    return names


@contextmanager
def new_private_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder for new files. At the end of the block, the folder gets the name `folder`.

    If there is an error in the block, no file remains. Only the owner can read the folder and its files.

    Raises
    ------
    InputError
        If `folder` is a file or contains files, or if the files cannot be written.
    """
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: this is not a new or empty folder. Fix: choose a new folder.")
    try:
        private_folder(folder.parent)
        waiting = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    except OSError as error:
        raise _cannot_be_written(folder, error) from error
    try:
        yield waiting
        for path in waiting.rglob("*"):
            path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE_FILE)
        if folder.exists():
            folder.rmdir()
        waiting.rename(folder)
    except OSError as error:
        raise _cannot_be_written(folder, error) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def write_new_folder(files: Mapping[str, str], folder: Path) -> None:
    """Write text files into a new or empty folder. Either all files are written or none.

    Raises
    ------
    InputError
        If the folder is a file, is not empty, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: this is not a new or empty folder. Fix: choose a new folder.")
    is_new = not folder.exists()
    # Files are moved to their final names when all are complete, so that a full disk leaves no incomplete export.
    unfinished = folder / ".unfinished"
    try:
        for name, text in files.items():
            path = unfinished / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        for path in list(unfinished.iterdir()):
            path.rename(folder / path.name)
        unfinished.rmdir()
    except (OSError, UnicodeEncodeError) as error:
        if folder.is_dir():
            for name in {unfinished.name, *(Path(name).parts[0] for name in files)}:
                _remove(folder / name)
            if is_new:
                folder.rmdir()
        raise InputError(f"{folder}: the files cannot be written ({error}). Fix: choose another folder.") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
