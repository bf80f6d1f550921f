"""The study of variance: one scale for all equations, growth from the middle of the box; and one real run."""

import pytest
from studies.bench import bench
from studies.measurements import MEASUREMENTS

from prism import Architecture, Dense
from prism.families import Poisson
from prism.studies import variance


def test_all_panels_have_one_scale_and_start_at_one_in_the_middle():
    """Of made-up growths; the variances themselves are measured in the real run alone."""
    panels = variance.figure(MEASUREMENTS["variance"]()).axes
    assert len(panels) == 4
    assert len({panel.get_ylim() for panel in panels}) == 1
    curves = [
        line for panel in panels for line in panel.lines if len(line.get_xdata()) == 4 and line.get_label()[0] != "_"
    ]
    assert all(curve.get_ydata()[1] == pytest.approx(1.0) for curve in curves)


def test_the_table_tells_corner_and_outside():
    rows = variance.summary(MEASUREMENTS["variance"]())
    assert len(rows) == 4
    assert rows[0]["residual variance at the corner"] == "+0.05 ± 0.00"
    assert rows[0]["residual variance outside"] == "+0.15 ± 0.00"


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """One equation, one modulation, one step of a tiny network."""
    sizes = {"EQUATIONS": {"poisson": Poisson}, "COMPARED": ["film"], "SEEDS": (0,), "POSITIONS": (0.5, 1.0, 2.0)}
    for name, value in {**sizes, "DIMENSION": 20, "DRAWS": 3, "STEPS": 1}.items():
        monkeypatch.setattr(variance, name, value)
    monkeypatch.setattr(variance, "Architecture", lambda lift, **changes: Architecture(Dense(4), 4, 2, 4, 1, **changes))
    middle, corner, _ = bench("variance", tmp_path, capsys)
    assert middle["gradient variance"] == 0.0 != corner["gradient variance"]
