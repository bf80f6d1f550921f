"""The study of decoupling: ratios within a round, side by side in the figure; and one real run."""

import pytest
from studies.bench import bench
from studies.measurements import MEASUREMENTS

from prism import FILM, NONE, Architecture, Dense
from prism.studies import decoupling, steppers


def measured(name: str, seconds: list[float]) -> dict:
    return {
        "d": 7,
        "modulation": name,
        "seconds per step in each round": seconds,
        "FLOP per step": 10.0,
        "compiled bytes": 20,
    }


def test_ratios_are_taken_within_a_round():
    """A round in which the machine is ten times slower changes no ratio. That rounds go through all modulations in
    turn is seen in the real run alone."""
    rows = decoupling.summary([measured("film", [1.1, 11.0, 1.1]), measured("none", [1.0, 10.0, 1.0])])
    assert rows[0]["time ratio"] == pytest.approx(1.1)
    assert rows[0]["lower quartile"] == pytest.approx(rows[0]["upper quartile"])
    assert rows[1]["time ratio"] == rows[1]["FLOP ratio"] == rows[1]["memory ratio"] == 1.0


def test_no_modulation_hides_another():
    """Two of the synthetic ones have the same ratios."""
    panel = decoupling.figure(MEASUREMENTS["decoupling"]()).axes[1]
    places = [tuple(line.get_xdata()) for line in panel.lines if line.get_marker() not in ("None", "|", "_")]
    assert len(set(places)) == len(places) == 4


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """Two modulations of a tiny network."""
    monkeypatch.setattr(decoupling, "DIMENSIONS", (20,))
    monkeypatch.setattr(decoupling, "MODULATIONS", {"film": FILM, "none": NONE})
    monkeypatch.setattr(steppers, "ROUND_SECONDS", 1e-3)
    monkeypatch.setattr(
        decoupling, "Architecture", lambda lift, **changes: Architecture(Dense(4), 4, 2, 4, 1, **changes)
    )
    film, plain = bench("decoupling", tmp_path, capsys)
    assert len(film["seconds per step in each round"]) == steppers.ROUNDS
    assert film["FLOP per step"] > plain["FLOP per step"]
