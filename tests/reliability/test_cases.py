"""The judge of a case sees what it is to see."""

import os

import pytest
from reliability.cases import Case, Fault, contents, faults_of
from reliability.commands import Ran

ERROR = "prism: error: no dim given\n"
CALL = Case("option", "", ("list", "--json"), frozenset({0, 1, 2}))


def faults(code: int | None, err: str = "", out: str = "", after: dict[str, str] | None = None, case: Case = CALL):
    before = {"notes": "a"}
    return list(faults_of(case, Ran(code, out, err, 0.0), before, before if after is None else after))


def test_a_refusal_a_failure_and_an_answer_are_right():
    assert faults(2, ERROR) == faults(1, "working\nprism: failed: no room\n") == faults(0, out='{"a": null}\n') == []


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (faults(None), Fault.HANG),
        (faults(-6), Fault.SIGNAL),
        (faults(3), Fault.EXIT_CODE),
        (faults(1, "Traceback (most recent call last)\nValueError\n"), Fault.TRACEBACK),
        (faults(2, ERROR + "and more\n"), Fault.LINES),
        (faults(2, ERROR + ERROR), Fault.LINES),
        (faults(2, "prism: error: \n"), Fault.LINES),
        (faults(1, ERROR), Fault.LINES),
        (faults(0, ERROR, "{}"), Fault.LINES),
        (faults(0, out='{"a": NaN}\n'), Fault.JSON),
        (faults(0), Fault.JSON),
        (faults(2, ERROR, after={"notes": "b"}), Fault.CHANGED),
        (faults(2, ERROR, after={}), Fault.CHANGED),
        (faults(2, ERROR, after={"notes": "a", "out/report.json": "b"}), Fault.LEFT),
    ],
)
def test_a_fault_is_seen(found, fault):
    assert found == [fault]


def test_what_a_command_may_write():
    assert Case("", "", ("solve", "--resume", "run")).may_write("run/report.json")
    assert Case("", "", ("trust", "run")).may_write("run/trust.json")
    assert not Case("", "", ("predict", "run")).may_write("run/trust.json")


def test_contents_tell_files_links_and_fifos_apart(tmp_path):
    (tmp_path / "file").write_text("a")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    before = contents(tmp_path)
    assert len({before["file"], before["link"], before["fifo"]}) == 3
    (tmp_path / "file").write_text("b")
    assert contents(tmp_path)["file"] != before["file"]
