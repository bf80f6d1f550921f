"""What memory is free, under strange control groups too, and memory that runs out."""

import pytest

from prism.errors import FailedRun
from prism.numerics import memory
from prism.numerics.memory import available_bytes, exhaustion_named


def test_memory_that_can_be_reclaimed_is_free(tmp_path, monkeypatch):
    for name, text in {"max": "1000", "current": "990", "stat": "anon 5\ninactive_file 700\n"}.items():
        (tmp_path / f"memory.{name}").write_text(text)
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    assert available_bytes() == 710


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [
        ("max", "5", None),
        ("", "5", None),
        ("-", "5", None),
        (None, "5", None),
        ("1000", None, None),
        ("1000", "", None),
        ("1000\n", "400\n", 600),
        ("1000", "4000", 0),
    ],
)
def test_a_strange_control_group_bounds_nothing(tmp_path, monkeypatch, limit, used, expected):
    for name, text in {"memory.max": limit, "memory.current": used}.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    monkeypatch.setattr(memory, "_meminfo_available", lambda: 5000)
    assert available_bytes() == (5000 if expected is None else expected)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes")])
def test_memory_that_ran_out_is_told(error):
    with pytest.raises(FailedRun, match="the memory ran out"), exhaustion_named():
        raise error


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="another"), exhaustion_named():
        raise RuntimeError("another")
