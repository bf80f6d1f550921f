"""Data and assumptions that make no sense are refused, with the reason."""

import numpy as np
import pytest
from inversion.surrogates import DIMENSION, SOLUTION

import prism

POINTS = np.zeros((3, DIMENSION))
WRONG = {
    "no values": ((POINTS[:0], np.zeros(0)), {}, "no observations"),
    "another number": ((POINTS, np.zeros(2)), {}, "are no observations"),
    "not finite": ((POINTS, np.asarray([0.0, np.nan, np.inf])), {}, r"not finite, in row 1, 2 \(from 0\)"),
    "too few": ((POINTS[:2], np.zeros(2)), {}, "too few observations: 2, where 3"),
    "another dimension": ((POINTS[:, :4], np.zeros(3)), {}, "points of 4 coordinates; this solution has 6"),
    "no noise": ((POINTS, np.zeros(3)), {"noise": 0.0}, "a noise of 0 is none"),
    "a negative error": ((POINTS, np.zeros(3)), {"model_error": -1.0}, "model_error is -1"),
    "no start": ((POINTS, np.zeros(3)), {"starts": 0}, "0 starts find nothing"),
}


@pytest.mark.parametrize(("data", "options", "message"), WRONG.values(), ids=WRONG)
def test_bad_data_are_refused(data, options, message):
    with pytest.raises(prism.InputError, match=message):
        prism.invert(SOLUTION, prism.Observations(*data), **options)
