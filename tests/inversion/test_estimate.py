"""An estimate for people, for scripts and for a figure."""

import json

import pytest
from inversion.surrogates import Formula

import prism
from prism.reporting.likelihoods import likelihoods


@pytest.fixture(scope="module")
def estimate() -> prism.Estimate:
    space = prism.Uniform(a=(0.0, 1.0), b=(0.0, 2.0))
    return Formula(lambda x, a, b: a * x[0] + b * x[1], space).given({"a": 0.4, "b": 1.5}, noise=0.01).estimate()


def test_a_line_per_parameter(estimate):
    first, *lines = estimate.summary()
    assert first.startswith("200 observations, noise 0.0")
    assert "(estimated)" in first
    for line, (name, value) in zip(lines, {"a": 0.4, "b": 1.5}.items(), strict=True):
        assert line.startswith(f"{name}  {estimate.values[name]:.6g}   95 % interval [")
        assert abs(estimate.values[name] - value) < 0.02


def test_everything_but_the_curves_is_json(estimate):
    content = json.loads(json.dumps(estimate.as_json()))
    assert content["observations"] == 200
    assert content["parameters"]["a"]["interval"] == list(estimate.interval["a"])
    assert "curve" not in content["parameters"]["a"]


def test_a_picture_of_each_parameter(estimate):
    assert [axis.get_xlabel() for axis in likelihoods(estimate).axes] == ["a", "b"]
