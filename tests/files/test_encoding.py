"""JSON that every reader of JSON takes."""

import json

import numpy as np
import pytest

from prism.files.encoding import json_text


def refuse(constant: str):
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("nan"), np.float64("inf")])
def test_what_is_not_finite_is_null(value):
    text = json_text({"error": value, "rows": [{"error": value}, (1.5, value)]})
    assert json.loads(text, parse_constant=refuse) == {"error": None, "rows": [{"error": None}, [1.5, None]]}


def test_all_else_is_as_it_was():
    content = {"text": "μ", "flag": True, "number": 3, "nothing": None, "size": 2.5e-300, "rows": []}
    assert json.loads(json_text(content)) == content
