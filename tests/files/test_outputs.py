"""A place is tried before the work: what cannot be written is refused, and nothing is left of the trial."""

import os
import socket
import stat
from pathlib import Path

import pytest

from prism.errors import UnusableOutput
from prism.files.marks import MARK, Layout
from prism.files.outputs import OutputFile, ResultDirectory, reserved
from prism.files.storage import LOCK, write_directory, write_file

STUDY = Layout("study", (r"results\.json", r"plots/\d+\.png"))


def tree(path: Path) -> dict[str, tuple]:
    """Everything below a path, with its kind and content."""
    found = {}
    for entry in sorted(path.rglob("*")):
        mode = entry.lstat().st_mode
        found[str(entry.relative_to(path))] = stat.S_IFMT(mode), entry.read_bytes() if stat.S_ISREG(mode) else None
    return found


@pytest.fixture
def places(tmp_path, monkeypatch) -> Path:
    """Things of the user's that are no place for an output. Root is stopped by each of them, too."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    os.mkfifo("fifo")
    Path("dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    Path("directory").mkdir()
    return tmp_path


UNUSABLE = ("file/below", "file/deeper/below", "/dev/null/below", "/proc/below", "dangling/below", "fifo/below")


@pytest.mark.parametrize("path", [*UNUSABLE, "file", "fifo", "dangling", "socket", "/proc", "n" * 300])
def test_an_unusable_directory_is_refused(places, path):
    before = tree(places)
    with pytest.raises(UnusableOutput, match="cannot write to"), reserved(Path(path)):
        pass
    assert tree(places) == before


@pytest.mark.parametrize("path", [*UNUSABLE, "fifo", "dangling", "socket", "directory", "n" * 240, "link"])
@pytest.mark.parametrize("replace", [False, True])
def test_an_unusable_file_is_refused(places, path, replace):
    (places / "link").symlink_to("fifo")
    before = tree(places)
    with pytest.raises(UnusableOutput, match="cannot write to"):
        OutputFile.tried(Path(path), [], replace)
    assert tree(places) == before


@pytest.mark.parametrize("replace", [False, True])
def test_a_device_is_no_file(replace):
    terminal = Path(os.ttyname(os.openpty()[1]))  # one that not even root can replace
    with pytest.raises(UnusableOutput, match="a device, not a regular file"):
        OutputFile.tried(terminal, [], replace)


def test_a_reserved_directory_is_made_and_goes_again_unless_it_is_used(tmp_path):
    place = tmp_path / "a" / "b"
    with reserved(place):
        assert [entry.name for entry in place.iterdir()] == [LOCK]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), reserved(place):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []
    with reserved(place):
        write_file(place / "result", b"whole")
    assert [entry.name for entry in place.iterdir()] == ["result"]


def test_an_empty_directory_of_the_users_stays(tmp_path):
    with reserved(tmp_path):
        pass
    assert tmp_path.is_dir()


def test_a_reserved_directory_may_be_replaced_as_a_whole(tmp_path):
    for content in (b"first", b"second"):
        with reserved(tmp_path / "out"):
            write_directory(tmp_path / "out", {"file": content})
        assert (tmp_path / "out" / "file").read_bytes() == content
        assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == ["file", "manifest.json"]


# Results


def stored(path: Path, replace: bool = False, pictures: int = 1) -> None:
    with ResultDirectory.reserved(path, STUDY, replace) as directory:
        directory.begin()
        directory.write("results.json", b"{}")
        for number in range(pictures):
            directory.write(f"plots/{number}.png", b"png")


def test_an_earlier_result_is_replaced_only_when_asked(tmp_path):
    stored(tmp_path / "out", pictures=3)
    (tmp_path / "out" / "plots" / "mine.png").write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(UnusableOutput, match="is in use; replace it with force=True"):
        stored(tmp_path / "out")
    assert tree(tmp_path) == before
    stored(tmp_path / "out", replace=True)
    files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files == {MARK, "results.json", "plots/0.png", "plots/mine.png"}


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("name", ["results.json", "plots/0.png", "notes.txt"])
def test_a_foreign_directory_is_never_taken_for_a_result(tmp_path, name, replace):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(UnusableOutput, match="something else than a study"):
        stored(tmp_path, replace)
    with pytest.raises(UnusableOutput, match="something else than a study"):
        STUDY.claim(tmp_path)
    assert tree(tmp_path) == before


def test_nothing_is_cleared_before_there_is_a_new_result(tmp_path):
    stored(tmp_path / "out")
    before = tree(tmp_path)
    with pytest.raises(ZeroDivisionError), ResultDirectory.reserved(tmp_path / "out", STUDY, True):
        _ = 1 / 0
    assert tree(tmp_path) == before


# Files


def test_a_file_is_written_with_its_directories_and_nothing_before(tmp_path):
    output = OutputFile.tried(tmp_path / "a" / "values.csv", [], replace=False)
    assert list(tmp_path.iterdir()) == []
    output.write(b"u")
    assert (tmp_path / "a" / "values.csv").read_bytes() == b"u"


def test_an_existing_file_is_replaced_only_when_asked(tmp_path):
    file = tmp_path / "values.csv"
    file.write_text("mine")
    with pytest.raises(UnusableOutput, match="exists; replace it with force=True"):
        OutputFile.tried(file, [], replace=False)
    OutputFile.tried(file, [], replace=True).write(b"new")
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_file_that_appears_during_the_work_is_not_replaced(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no hard links")))
    output = OutputFile.tried(tmp_path / "values.csv", [], replace=False)
    (tmp_path / "values.csv").write_text("mine")
    with pytest.raises(UnusableOutput, match="exists"):
        output.write(b"new")
    assert tree(tmp_path) == {"values.csv": (stat.S_IFREG, b"mine")}
    OutputFile.tried(tmp_path / "other.csv", [], replace=False).write(b"new")
    assert (tmp_path / "other.csv").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["points.csv", "sub/../points.csv", "hard.csv", "soft.csv", "sub/soft.csv"])
def test_an_input_is_never_overwritten(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("points.csv").write_text("mine")
    os.link("points.csv", "hard.csv")
    Path("soft.csv").symlink_to("points.csv")
    Path("sub/soft.csv").symlink_to("../hard.csv")
    with pytest.raises(UnusableOutput, match=r"is the input .*points\.csv"):
        OutputFile.tried(Path(name), [tmp_path / "points.csv"], replace=True)
    assert Path("points.csv").read_text() == "mine"


def test_a_link_stays_and_what_it_names_is_written(tmp_path):
    (tmp_path / "target.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("target.csv")
    OutputFile.tried(tmp_path / "link.csv", [], replace=True).write(b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_bytes() == b"new"
