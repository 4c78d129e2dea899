import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.private_files import open_folder_warning, private_folder


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Set a umask: none, the usual one, and a private one."""
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user can read; pytest's own folders are private."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_folder_and_its_new_parents_are_readable_by_their_owner_only(umask: None, tmp_path: Path) -> None:
    private_folder(tmp_path / "study" / "data" / "lab")
    for name in ("study", "study/data", "study/data/lab"):
        assert mode(tmp_path / name) == 0o700


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    private_folder(tmp_path / "data" / "lab")
    assert (mode(tmp_path / "data"), mode(tmp_path / "data" / "lab")) == (0o755, 0o700)


def test_a_private_file_is_readable_by_its_owner_only_from_its_first_byte(umask: None, tmp_path: Path) -> None:
    with atomic_write(tmp_path / "two", is_private=True) as file:
        file.write("text")
        (part,) = tmp_path.glob("two-*.part")
        assert mode(part) == 0o600
    assert mode(tmp_path / "two") == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["two"]


def test_a_file_that_others_can_read_is_replaced_by_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("earlier")
    path.chmod(0o644)
    with atomic_write(path, is_private=True) as file:
        file.write("now")
    assert (path.read_text(), mode(path)) == ("now", 0o600)


def test_a_file_stays_unchanged_if_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("earlier")

    def full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(InputError, match=r"cannot be written \(No space left"), atomic_write(path) as file:
        file.write("now")
    assert path.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["ids.csv"]
    with pytest.raises(InputError, match="this is a folder"), atomic_write(tmp_path):
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(
    ("bits", "is_open"), [(0o755, True), (0o701, True), (0o704, True), (0o750, False), (0o700, False)]
)
def test_a_folder_that_others_can_read_gives_a_one_line_warning_with_the_command(
    public_folder: Path, bits: int, is_open: bool
) -> None:
    data = public_folder / "my data"
    data.mkdir()
    data.chmod(bits)
    warning = open_folder_warning(data)
    if not is_open:
        assert warning is None
        return
    assert warning is not None
    assert warning == f"{data}: other users of this machine can read this folder. Fix: chmod -R go= '{data}'"
    os.system(warning.partition("Fix: ")[2])
    assert mode(data) == 0o700
    assert open_folder_warning(data) is None


def test_a_folder_inside_a_private_folder_gives_no_warning(public_folder: Path) -> None:
    data = public_folder / "home" / "data"
    data.mkdir(parents=True)
    data.chmod(0o755)
    data.parent.chmod(0o700)
    assert open_folder_warning(data) is None
    assert open_folder_warning(public_folder / "none") is None
