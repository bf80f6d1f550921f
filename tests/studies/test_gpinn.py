"""The study of gradient-enhanced training: two losses of one problem side by side, and one real run."""

import pytest
from studies.bench import SMALL, bench
from studies.measurements import MEASUREMENTS

from prism import Sampling
from prism.families import AllenCahn, GKdV
from prism.numerics.keys import Purpose, stream
from prism.solving.settings import Settings
from prism.studies import gpinn, steppers
from prism.studies.steppers import EACH_ROUND


def test_both_losses_of_a_problem_are_on_one_line():
    """In whatever order they were measured; the time is the ratio within a round."""
    measured = MEASUREMENTS["gpinn"]()
    rows = gpinn.summary(measured)
    assert len(rows) == len(measured) // 2
    assert [row["time with the gradient"] for row in rows] == pytest.approx([1.6] * len(rows))
    backwards = gpinn.summary(measured[::-1])
    assert [*reversed(backwards)] == rows
    first = rows[0]
    assert (first["relative L2"], first["with the gradient"]) == (
        measured[0]["relative L2"],
        measured[1]["relative L2"],
    )
    assert first["skill with the gradient"] == measured[1]["skill"]


def test_a_slow_round_changes_no_ratio():
    plain, enhanced, *_ = MEASUREMENTS["gpinn"]()
    loads = (1.0, 10.0, 1.0)
    (row,) = gpinn.summary(
        [
            plain | {EACH_ROUND: [2e-3 * load for load in loads]},
            enhanced | {EACH_ROUND: [3e-3 * load for load in loads]},
        ]
    )
    assert row["time with the gradient"] == pytest.approx(1.5)
    assert row["quartiles"] == "1.50 to 1.50"


def test_the_finding_counts_lower_errors_by_optimiser():
    """The synthetic errors with the gradient are 1.6 to the −1.5 ... 2.5 times those without: two of five lower."""
    finding = gpinn.finding(MEASUREMENTS["gpinn"]())
    lowest, highest = f"{1.6**-1.5:.2g}", f"{1.6**2.5:.2g}"
    for optimiser in ("adam", "spring"):
        assert f"With {optimiser} a step takes 1.60 to 1.60 times as long" in finding
    assert finding.count(f"{lowest} to {highest} times that of the plain loss, lower in 2 of 5 cells") == 2


def test_every_curve_is_in_the_figure():
    """Two losses and two optimisers for each equation; the equation of one dimension has single points."""
    *panels, single = gpinn.figure(MEASUREMENTS["gpinn"]()).axes
    for axes in panels:
        assert [len(line.get_xdata()) for line in axes.lines] == [2] * 6
    assert [len(line.get_xdata()) for line in single.lines] == [1] * 6
    assert [axes.get_title() for axes in (*panels, single)] == ["first", "second", "wave"]


@pytest.mark.parametrize("full", [False, True])
def test_problems_are_planned_one_by_one(full, monkeypatch):
    """Nothing is trained: each problem with each optimiser is one planned piece, and its name is told."""
    told, names = [], ("problem", "optimiser", "seconds")
    monkeypatch.setattr(gpinn, "compared", lambda *given: [dict(zip(names, given, strict=True))])
    measured = gpinn.run(full, told.append)
    assert len(measured) == len(told) == len(set(told)) == len(gpinn.plan(full))
    seconds = gpinn.FULL_SECONDS if full else gpinn.SECONDS
    assert {one["seconds"] for one in measured} == {seconds}
    problems = [one["problem"] for one in measured]
    assert {(one.equation, type(one.family)) for one in problems} >= {("allen-cahn", AllenCahn), ("gkdv", GKdV)}
    assert all(one.dimension == one.family.domain.dimension for one in problems)


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """Tiny networks on two problems, for a moment, with both optimisers."""
    problems = [
        gpinn.Problem("allen-cahn", 6, AllenCahn.create(6, stream(0, Purpose.PROBLEM)), 1.0),
        gpinn.Problem("gkdv", 1, GKdV.create(), 1.0),
    ]
    chosen = Settings.choose
    small = lambda family, **choices: chosen(family, **choices, architecture=SMALL, sampling=Sampling(4, 4))
    monkeypatch.setattr(gpinn, "problems", lambda full: problems)
    monkeypatch.setattr(gpinn, "SECONDS", 0.05)
    monkeypatch.setattr(gpinn.Settings, "choose", small)
    monkeypatch.setattr(steppers, "ROUND_SECONDS", 1e-3)
    measured = bench("gpinn", tmp_path, capsys)
    assert [one["loss"] for one in measured] == [gpinn.PLAIN, gpinn.ENHANCED] * 4
    for plain, enhanced in zip(measured[::2], measured[1::2], strict=True):
        assert enhanced["FLOP per step"] > plain["FLOP per step"]
        assert len(plain[EACH_ROUND]) == len(enhanced[EACH_ROUND]) == steppers.ROUNDS
