"""`prism invert`: files in, estimates out, mistakes in one line."""

import dataclasses
import json

import numpy as np
import pytest
from inversion.surrogates import solution_of

from prism.cli import main
from prism.cli.configuration import new_options


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """What `prism solve` would leave, without solving."""
    out = tmp_path_factory.mktemp("runs") / "run"
    options = new_options({"family": "sine-gordon-beta", "dim": 6, "steps": 1})
    solution_of(options.build_family()).save(out / "model", dataclasses.asdict(options))
    return out


def test_the_command(finished, tmp_path, capsys):
    points = np.random.default_rng(0).normal(size=(20, 6)) / 4
    np.savetxt(tmp_path / "one.csv", np.column_stack([points, points[:, 0]]), delimiter=",")
    np.savez(tmp_path / "two.npz", points=points, values=points[:, 1])
    files = [str(tmp_path / name) for name in ("one.csv", "two.npz")]
    capsys.readouterr()
    assert main(["invert", str(finished), *files, "--noise", "0.1", "--out", str(tmp_path / "out"), "--json"]) == 0
    told = capsys.readouterr()
    report = json.loads(told.out)
    assert [one["data"] for one in report["estimates"]] == files
    assert set(report["estimates"][0]["parameters"]) == {"beta"}
    assert "20 observations, noise 0.1 (as given)" in told.err
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == report
    for number in (1, 2):
        assert (tmp_path / "out" / "plots" / f"likelihood-{number}.png").stat().st_size > 1000
    assert main(["invert", str(finished), files[0]]) == 0
    assert "beta" in capsys.readouterr().out


MISTAKES = {
    "no such file": (None, "cannot read observations"),
    "an empty file": ("", "data.csv is empty"),
    "a missing column": ("1,2,3,4,5,6", "a table of shape (1, 6); give rows of 6 coordinates and a value"),
    "words": ("a,b", "cannot read observations"),
    "a value that is not finite": ("1,2,3,4,5,6,7\n1,2,3,4,5,6,nan", "not finite, in row 1"),
    "too few": ("1,2,3,4,5,6,7", "too few observations"),
}


@pytest.mark.parametrize(("content", "message"), MISTAKES.values(), ids=MISTAKES)
def test_bad_files_are_refused_in_one_line(content, message, finished, tmp_path, capsys):
    file = tmp_path / "data.csv"
    if content is not None:
        file.write_text(content + "\n" if content else "")
    capsys.readouterr()
    assert main(["invert", str(finished), str(file)]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1
