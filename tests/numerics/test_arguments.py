"""Arguments of the wrong kind are named where they are given, as users meet it: in single precision, in a program of
their own, without the run-time check of annotations that other tests have."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

PROGRAM = """
import json, sys
import jax.numpy as jnp
import numpy as np
import prism
from prism.solving.settings import Settings

class Torsion(prism.Family):
    domain: prism.Domain
    parameters = prism.Uniform(mu=(0.5, 1.5))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap + mu.mu

BALL = prism.Ball(3)
FAMILY = Torsion(BALL)
solve = lambda **given: prism.solve(FAMILY, progress=False, **{"steps": 1, **given})

def outcome(call):
    try:
        eval(call)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["none", ""]

json.dump({call: outcome(call) for call in json.load(sys.stdin)}, sys.stdout)
"""

PAIR = r"give a lower and an upper one, k=\(0\.5, 1\.5\)"
WRONG = {
    "prism.Uniform(k=1.0)": rf"the bounds of k are 1\.0; {PAIR}",
    "prism.Uniform(k=(1, 2, 3))": rf"the bounds of k are \(1, 2, 3\); {PAIR}",
    "prism.Uniform(k='12')": rf"the bounds of k are '12'; {PAIR}",
    "prism.Uniform(k=None)": rf"the bounds of k are None; {PAIR}",
    "prism.Uniform(k=('1', '2'))": r"a bound of k is '1'; give a number",
    "prism.Uniform(k=(None, 1))": r"a bound of k is None; give a number",
    "prism.Uniform(k=(1j, 2))": r"a bound of k is 1j; give a number",
    "prism.Uniform(k=(np.ones(2), np.ones(2)))": r"a bound of k is array.*; give a number",
    "prism.Uniform(k=(0, 10**400))": r"a bound of k is larger than any",
    "prism.Uniform(k=(1, 1 + 1e-12))": r"no interval in single precision",
    "prism.Uniform(k=(0, 1e39))": r"beyond single precision",
    "prism.Uniform(k=(-3e38, 3e38))": r"no interval in single precision",
    "prism.Uniform(k=(0, 1e-40))": r"no interval in single precision",
    "prism.LogUniform(k=(1e-45, 1))": r"beyond single precision",
    "prism.LogUniform(k=(1e30, 1.0000001e30))": r"no interval in single precision",
    "prism.Uniform(seed=(0, 1))": r"cannot be called seed: self, seconds, parts, seed are arguments",
    "prism.Uniform(self=(0, 1))": r"cannot be called self",
    "prism.Uniform(cls=(0, 1))": r"cannot be called cls",
    "prism.Uniform(**{'lambda': (0, 1)})": r"cannot be called 'lambda'",
    "prism.Uniform(_k=(0, 1))": r"cannot be called '_k'",
    "prism.Uniform(**{'a b': (0, 1)})": r"cannot be called 'a b'",
    "prism.Ball(0)": r"the dimension is 0; give a whole number of 1 or more",
    "prism.Ball(2.0)": r"the dimension is 2\.0; give a whole number",
    "prism.Ball('5')": r"the dimension is '5'; give a whole number",
    "prism.Ball(5, 'a')": r"the radius of a ball is 'a'; give a number",
    "prism.Cube(5, 'a', 'b')": r"a bound of the cube is 'a'; give a number",
    "prism.WholeSpace(5, None)": r"the deviation of a WholeSpace is None; give a number",
    "prism.WholeSpace(5, 1.0, 'a')": r"the share of points drawn inwards is 'a'; give a number",
    "prism.TimeCylinder(5)": r"the space of a TimeCylinder is 5; give a domain",
    "prism.TimeCylinder(BALL, 'a')": r"the horizon of a time cylinder is 'a'; give a number",
    "prism.AtTime(5)": r"the cylinder of AtTime is 5; give a domain with time",
    "prism.DiffusionPaths(5, 1.0, 'a')": r"the query_time is 'a'; give a number",
    "prism.vanishing(5)": r"the domain of vanishing\(\) is 5",
    "prism.Directional(np.ones(3))": r"velocity of a Directional is array.*; give a function, lambda x, mu",
    "prism.WeightedTrace(1.0)": r"σ of a WeightedTrace is 1\.0; give a function, lambda x, mu",
    "prism.HardConstraint(5)": r"factor of a constraint is 5; give a function, lambda x, mu",
    "prism.radial(BALL, lambda s, t: s)": r"factor of a constraint takes \(s, t\); write lambda s, t, mu",
    "prism.Prescribed(5, lambda x, mu: 0.0)": r"domain of a Prescribed condition is 5; give a domain",
    "prism.Prescribed(BALL, 0.0)": r"value of a Prescribed condition is 0\.0; give a function",
    "prism.Prescribed(BALL, lambda x, mu: 0.0, points=2.5)": r"points of a condition is 2\.5; give a whole number",
    "prism.Observed(jnp.ones((3, 5)), jnp.ones((2, 2)), jnp.ones(3))": r"under of shape \(2, 2\).*does not fit",
    "prism.Observed(jnp.ones((3, 5)), jnp.ones((3, 2)), jnp.ones((3, 1)))": r"values of shape \(3, 1\).*does not fit",
    "prism.Observed(jnp.ones((1, 5)), jnp.ones((1, 2)), [float('nan')])": r"values of Observed is not finite in row 0",
    "prism.Observed('a', [[1]], [1])": r"at of Observed is 'a'; give an array of numbers",
    "prism.Observations('a', [1])": r"points of observations is 'a'; give an array of numbers",
    "solve(steps='2')": r"steps is '2'; give a whole number of 1 or more",
    "solve(steps=2.0)": r"steps is 2\.0; give a whole number",
    "solve(steps=None, minutes='1')": r"minutes is '1'; give a number",
    "solve(seed=-1)": r"seed is -1; give a whole number from 0 to",
    "solve(seed=1.5)": r"seed is 1\.5; give a whole number from 0 to",
    "solve(estimator=prism.Gaussian)": r"estimator is the class Gaussian; give .*prism\.Gaussian\(16\)",
    "solve(optimiser='adam')": r"optimiser is 'adam'; give .*prism\.Adam\(\)",
    "solve(architecture='x')": r"architecture is 'x'; give .*prism\.Architecture",
    "solve(sampling=100)": r"sampling is 100; give .*prism\.Sampling",
    "solve(sampling=prism.Sampling(2.0, 2.0))": r"points of the sampling is 2\.0; give a whole number",
    "solve(independent='no')": r"independent is 'no'; give True or False",
    "solve(slopes=3)": r"slopes is 3; give prism\.Slopes\(\)",
    "solve(worst_case=3)": r"worst_case is 3; give prism\.WorstCase",
    "solve(out=5)": r"out is 5; give a directory",
    "prism.solve(Torsion, steps=1)": r"is not a family; build one",
    "FAMILY.parameters.array(mu='a')": r"mu is 'a'; give a number",
}
RIGHT = (
    "prism.Uniform(k=(0, 1))",
    "prism.Uniform(k=[np.float32(0), jnp.ones(())])",
    "prism.Uniform(μ=(0, 1))",
    "prism.Uniform(x=(0, 1), points=(1, 2), u=(1, 2), values=(0, 1)).array(x=0.5, points=1, u=1, values=1)",
    "prism.Observed(np.ones((1, 5)), [[1, 2]], [3])",
    "Settings.choose(FAMILY, seed=7, sampling=prism.Sampling(4, 4))",
    "Settings.choose(FAMILY, seed=np.int64(7), sampling=prism.Sampling(np.int64(4), np.int32(4)))",
)


@pytest.fixture(scope="module")
def outcomes() -> Mapping[str, list[str]]:
    """Of every call: the class of its error and the message."""
    plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([*WRONG, *RIGHT]),
        capture_output=True,
        text=True,
        env=plain,
        check=True,
        timeout=300,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(("call", "message"), WRONG.items(), ids=WRONG)
def test_a_wrong_argument_is_named_in_one_line(outcomes, call, message):
    kind, told = outcomes[call]
    assert kind == "InputError"
    assert re.search(message, told), told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("call", RIGHT)
def test_a_right_argument_is_taken(outcomes, call):
    assert outcomes[call] == ["none", ""]
