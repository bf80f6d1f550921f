"""What the studies over β share: equal parts of the steps, and errors at every β under the trial's name."""

import numpy as np
import pytest
from studies.bench import constant_trials

from prism.studies import over_beta
from prism.studies.trials import Trial


def test_parts_share_the_steps():
    whole, part = over_beta.budget(full=False), over_beta.budget(full=False, parts=4)
    assert whole.steps == 4 * part.steps == over_beta.STEPS


def test_errors_stand_beside_their_beta(monkeypatch):
    """Errors are made up: that `errors_at` measures them at these β is tested with the evaluation."""
    constant_trials(monkeypatch)
    monkeypatch.setattr(over_beta, "DIMENSION", 6)
    monkeypatch.setattr(
        over_beta, "errors_at", lambda model, family, parameters, key: 0.1 * np.asarray(parameters[:, 0])
    )
    measured = over_beta.measured_errors(
        "law", Trial("uniform", {"seed": 4}), over_beta.problem(), over_beta.budget(False), (0.5, 2.0)
    )
    assert [one["β"] for one in measured] == [0.5, 2.0]
    assert [one["relative L2"] for one in measured] == pytest.approx([0.05, 0.2])
    assert {(one["law"], one["d"], one["steps"], one["seed"]) for one in measured} == {
        ("uniform", 6, over_beta.STEPS, 4)
    }


def test_a_problem_at_one_beta_holds_no_other():
    (low,), (high,) = over_beta.problem_at(2.0).parameters.lows, over_beta.problem_at(2.0).parameters.highs
    assert low == pytest.approx(2.0, rel=1e-3)
    assert high == pytest.approx(2.0, rel=1e-3)
