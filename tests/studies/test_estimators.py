"""The study of estimators: deviations of zero stay visible, and one real run."""

import numpy as np
import pytest
from studies.bench import bench, small_trials
from studies.measurements import MEASUREMENTS

from prism import Coordinates
from prism.studies import estimators


def test_no_deviation_is_shown_at_the_floor_of_the_axis():
    measured = MEASUREMENTS["estimators"]()
    panel = estimators.figure(measured).axes[2]
    shown = np.concatenate([line.get_ydata() for line in panel.lines if line.get_marker() != "None"])
    shown = shown[np.isfinite(shown)]
    assert len(shown) == len(measured)
    exact = [one for one in measured if one["deviation"] == 0.0]
    assert np.sum(shown == shown.min()) == len(exact)
    assert panel.get_ylim()[0] < shown.min() < 0.1 * min(one["deviation"] for one in measured if one["deviation"])


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """At a size where the numbers mean nothing."""
    monkeypatch.setattr(estimators, "DIMENSIONS", (6,))
    monkeypatch.setattr(estimators, "SECONDS", 0.05)
    monkeypatch.setattr(estimators, "ESTIMATORS", {"coordinates:2": Coordinates(2)})
    monkeypatch.setattr(estimators, "DRAWS", 4)
    small_trials(monkeypatch)
    (measured,) = bench("estimators", tmp_path, capsys)
    assert measured["deviation"] > 0
