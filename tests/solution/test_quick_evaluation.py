"""The error shown while training agrees with that of the whole evaluation."""

import math

from helpers import KEY, small_model

from prism.families import AllenCahn
from prism.solution.evaluation import evaluate
from prism.solution.quick_evaluation import QuickEvaluation


def test_a_quick_error_agrees_with_the_whole_evaluation():
    """Two independent samples: within 4 of their combined standard errors, which are small enough to tell."""
    family = AllenCahn.create(3, KEY)
    model = small_model(family.domain, parameters=family.parameters)
    quick, whole = QuickEvaluation(model, family, KEY)(model), evaluate(model, family, KEY, 4_000)
    errors = math.hypot(quick.standard_error, whole.relative_l2_standard_error)
    assert abs(quick.relative_l2 - whole.relative_l2) < 4 * errors
    assert 0.0 < errors < 0.1 * whole.relative_l2
