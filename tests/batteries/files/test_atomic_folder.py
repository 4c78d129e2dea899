"""The folder of an analysis is written completely, or not at all, and no other file in it is touched."""

import json
from pathlib import Path

import pytest

from batteries.errors import InputError
from batteries.files.atomic_folder import MANIFEST, new_private_folder, write_together

FIRST = {
    "tables/accuracy.csv": b"accuracy\n0.5\n",
    "tables/trials.csv": [b"trial\n", b"1\n"],
    "figures/old.svg": b"<svg/>",
    "report.html": b"<p>first</p>",
}
SECOND = {
    "tables/accuracy.csv": b"accuracy\n0.6\n",
    "tables/trials.csv": [b"trial\n", b"2\n"],
    "report.html": b"<p>second</p>",
}
"""A later analysis of the same study, without the figure."""


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_files_and_their_digests_are_written(tmp_path):
    write_together(tmp_path / "out", FIRST, {"made": "today"})
    written = files_in(tmp_path / "out")
    assert set(written) == {*FIRST, MANIFEST}
    assert written["tables/trials.csv"] == b"trial\n1\n"
    manifest = json.loads(written[MANIFEST])
    assert manifest["made"] == "today"
    assert set(manifest["files"]) == set(FIRST)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_while_writing_leaves_the_earlier_result(tmp_path, monkeypatch):
    write_together(tmp_path / "out", FIRST, {})
    before = files_in(tmp_path)

    def fail(*_args):
        raise OSError("disk full")

    monkeypatch.setattr("batteries.files.atomic_folder.open_private", fail)
    with pytest.raises(InputError, match=r"out: cannot be written \(disk full\)"):
        write_together(tmp_path / "out", SECOND, {})
    monkeypatch.undo()
    assert files_in(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_analysis_is_replaced_and_other_files_are_kept(tmp_path):
    out = tmp_path / "out"
    write_together(out, FIRST, {})
    (out / "notes.txt").write_text("mine")
    (out / "tables" / "mine.csv").write_text("mine")
    write_together(out, SECOND, {})
    written = files_in(out)
    assert "figures/old.svg" not in written, "the new analysis does not have this figure"
    assert written["notes.txt"] == written["tables/mine.csv"] == b"mine"


def test_an_outdated_file_that_the_researcher_changed_is_kept(tmp_path):
    out = tmp_path / "out"
    write_together(out, FIRST, {})
    (out / "figures" / "old.svg").write_text("edited")
    write_together(out, SECOND, {})
    assert files_in(out)["figures/old.svg"] == b"edited"


def test_a_file_that_is_not_of_an_analysis_is_never_overwritten(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("my thesis")
    with pytest.raises(InputError, match=r"report\.html: this file is not from an analysis"):
        write_together(tmp_path / "out", FIRST, {})
    assert files_in(tmp_path) == {"out/report.html": b"my thesis"}
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="this is a file"):
        write_together(tmp_path / "file", FIRST, {})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / MANIFEST).write_text('{"mine": 1}')
    with pytest.raises(InputError, match="does not list the files of an analysis"):
        write_together(tmp_path / "other", FIRST, {})


@pytest.mark.parametrize("blocked", ["tables", "figures", "", "../out"])
def test_a_file_where_a_folder_must_be_is_named_and_nothing_is_written(tmp_path, blocked):
    out = tmp_path / "deep" / "out"
    place = out / blocked if blocked != "../out" else tmp_path / "deep"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine")
    before = files_in(tmp_path)
    with pytest.raises(InputError, match="is a file where a folder is needed") as error:
        write_together(out, FIRST, {})
    assert str(error.value).startswith(f"{place}: ")
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("blocked", ["tables/accuracy.csv", "report.html", MANIFEST])
def test_a_folder_where_a_file_must_be_is_named_and_nothing_is_written(tmp_path, blocked):
    write_together(tmp_path / "out", FIRST, {})
    (tmp_path / "out" / blocked).unlink()
    (tmp_path / "out" / blocked).mkdir()
    before = files_in(tmp_path)
    with pytest.raises(InputError, match=f"{blocked}: this is a folder where a file is needed"):
        write_together(tmp_path / "out", SECOND, {})
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("call", ["replace", "unlink"])
def test_a_file_that_another_program_has_open_is_named_and_the_earlier_result_is_restored(tmp_path, monkeypatch, call):
    """On Windows, a table that is open in a spreadsheet can be neither replaced nor removed."""
    out = tmp_path / "out"
    write_together(out, FIRST, {})
    before = files_in(tmp_path)
    place = {"replace": out / "tables" / "trials.csv", "unlink": out / "figures" / "old.svg"}[call]
    real = getattr(Path, call)

    def refused(self, *target):
        if place in (self, *target):
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, *target)

    monkeypatch.setattr(Path, call, refused)
    with pytest.raises(
        InputError, match=r"cannot be written \(Permission denied\). Fix: close other programs"
    ) as error:
        write_together(out, SECOND, {})
    monkeypatch.undo()
    assert str(error.value).startswith(f"{place}: ")
    assert files_in(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_may_not_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()

    def refused(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refused)
    with pytest.raises(InputError, match=r"out: cannot be written \(Permission denied\)"):
        write_together(tmp_path / "out", FIRST, {})


def test_a_new_folder_appears_only_when_it_is_complete(tmp_path):
    out = tmp_path / "above" / "out"
    with new_private_folder(out) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "a.txt").write_text("a")
        assert not out.exists()
    assert files_in(out) == {"inner/a.txt": b"a"}
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_an_error_leaves_no_new_folder(tmp_path):
    def write(out: Path) -> None:
        with new_private_folder(out) as folder:
            (folder / "a.txt").write_text("a")
            raise InputError("wrong. Fix: none.")

    with pytest.raises(InputError, match="wrong"):
        write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_file", [True, False])
def test_a_new_folder_never_replaces_files(tmp_path, is_file):
    out = tmp_path / "out"
    kept = out if is_file else out / "kept.txt"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("kept")
    with pytest.raises(InputError, match="this is not a new or empty folder"), new_private_folder(out):
        pass
    assert kept.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [out]
