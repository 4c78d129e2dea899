"""Files moved into a folder together: all of a result or none of it, and nobody else's files touched."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from batteries.errors import InputError

MANIFEST = "provenance.json"


def write_together(out: Path, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
    """Write `files` (by their paths within `out`) and a manifest that names them with their SHA-256.

    Everything is written to a temporary folder beside `out` first. If `out` does not exist, that folder becomes it in
    one step; otherwise the files are moved in one by one, the manifest last. Files of an earlier analysis that this
    one no longer has are removed if they are unchanged; other files stay as they are.

    Raises
    ------
    InputError
        If `out` is a file, or holds a file of the same name that no analysis of ours wrote.
    """
    out = out.absolute()
    earlier = _earlier_files(out)
    for name in (*files, MANIFEST):
        if (out / name).exists() and name not in earlier and name != MANIFEST:
            raise InputError(f"{out / name}: this file was not written by an analysis; choose another output folder.")
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    text = json.dumps({**manifest, "files": digests}, indent=2, ensure_ascii=False) + "\n"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        waiting = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out}: cannot write there ({error.strerror}); choose another output folder.") from error
    try:
        for name, content in {**files, MANIFEST: text.encode()}.items():
            (waiting / name).parent.mkdir(parents=True, exist_ok=True)
            (waiting / name).write_bytes(content)
        waiting.chmod(0o755)
        if not out.exists():
            waiting.rename(out)
            return
        for name in (*files, MANIFEST):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (waiting / name).replace(out / name)
        _remove_outdated(out, earlier, digests)
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def _earlier_files(out: Path) -> dict[str, str]:
    """Return the files of the analysis that is in `out`, with their digests."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: this is a file; name a folder for the analysis.")
    manifest = out / MANIFEST
    if not manifest.exists():
        return {}
    try:
        files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        return {str(name): str(digest) for name, digest in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        raise InputError(f"{manifest}: this is no manifest of an analysis; choose another output folder.") from None


def _remove_outdated(out: Path, earlier: Mapping[str, str], now: Mapping[str, str]) -> None:
    for name, digest in earlier.items():
        path = out / name
        inside = out.resolve() in path.resolve().parents
        if name not in now and inside and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            path.unlink()
