"""`prism list FAMILY`: every family explained from its own object, a user's own too."""

import json

import pytest
from cli.runs import check_refusal, prism

import prism as public
from prism.cli.explanation import explain, told
from prism.cli.names import FAMILIES, own_dimension
from prism.cli.parser import build_parser
from prism.problem.boxes import Box, Faces
from prism.problem.docstrings import NO_EQUATION

IN_BALL = ("poisson", "allen-cahn", "sine-gordon", "sine-gordon-beta", "biharmonic")
every_family = pytest.mark.parametrize("name", FAMILIES)


@every_family
def test_every_family_is_explained(name):
    explained = json.loads(prism("list", name, "--json").out)
    box = FAMILIES[name].box
    assert explained["family"] == name
    assert " = " in explained["equation"]
    sides = {parameter: (one["low"], one["high"]) for parameter, one in explained["parameters"].items()}
    assert sides == box.bounds()
    assert {one["law"] for one in explained["parameters"].values()} == {"log-uniform" if box.logarithmic else "uniform"}
    assert "R^d" in explained["domain"] or own_dimension(name)
    assert ("t " in explained["domain"]) == (explained["time_horizon"] is not None)
    assert explained["built_in_conditions"]
    assert explained["exact_solution"] or explained["reference"]
    of_waves = {"--wave"} if own_dimension(name) else set()
    assert set(explained["variants"]) == ({"--scaled", "--pairs"} if name in IN_BALL else of_waves)


@every_family
def test_an_equation_in_time_comes_with_the_state_it_starts_from(name):
    """u(x, 0), or u(x, 1) where values are given at the end; in the ball the values on the sphere; or a whole wave."""
    explained = json.loads(prism("list", name, "--json").out)
    if own_dimension(name):
        assert explained["remarks"].startswith("u = ")
        return
    given = ("u(x, 0) = ", "u(x, 1) = ") if explained["time_horizon"] else ("u = 0 on its surface",)
    assert any(words in explained["equation"] for words in given)


@every_family
def test_the_commands_can_be_typed(name):
    explained = json.loads(prism("list", name, "--json").out)
    for command in (explained["solve_command"], explained["reference_command"]):
        program, *words = command.split()
        assert program == "prism"
        assert build_parser().parse_args(words).family == name
        assert ("--dim" in words) == (own_dimension(name) is None)


@pytest.mark.parametrize("name", ["allen-cahn", "hjb-log", "kdv2d", "gkdv"])
def test_the_reference_of_an_explanation_is_there(name):
    _, *words = json.loads(prism("list", name, "--json").out)["reference_command"].split()
    assert prism(*words).code == 0


def test_a_reader_is_told_the_same():
    text = prism("list", "sine-gordon-beta").out
    for words in (
        "Δu + β sin u = f(x; β) in the unit ball",
        "beta in [0.1, 10], log-uniform",
        "|x| < 1 in R^d; direction uniform, radius uniform on (0, 1)",
        "--pairs: which coordinates interact",
        "prism solve sine-gordon-beta --dim 100",
    ):
        assert words in text


def test_an_unknown_family_is_refused_with_those_there_are():
    check_refusal(prism("list", "allen-kahn"), "unknown family 'allen-kahn'; choose poisson, allen-cahn")


class Own(public.Family):
    """u_t = κ Δu in the cube,
    u(x, 0) = 1.

    Asked for by someone.
    """

    domain: public.TimeCylinder
    parameters = public.Uniform(kappa=(0.5, 2.0))
    terms = {"lap": public.Laplacian(), "t": public.TimeDerivative()}

    def residual(self, u, x, mu):
        return u.t - mu.kappa * u.lap


class Silent(Own):
    def constraint(self):
        return public.vanishing(public.Ball(3))


def test_a_family_of_ones_own_is_explained_too():
    family = Own(public.TimeCylinder(public.Cube(3), 2.0))
    explained = explain("my.py:Own", family, 3)
    assert explained["equation"] == "u_t = κ Δu in the cube, u(x, 0) = 1."
    assert explained["remarks"] == "Asked for by someone."
    assert explained["parameters"] == {"kappa": {"low": 0.5, "high": 2.0, "law": "uniform"}}
    assert explained["domain"] == "[0, 1]^d; x uniform; t uniform on (0, 2)"
    assert not explained["built_in_conditions"]
    assert (explained["exact_solution"], explained["reference"], explained["reference_command"]) == (False, False, None)
    assert explained["variants"] == {}
    assert explained["solve_command"] == "prism solve my.py:Own --dim 3 --minutes 1"
    text = "\n".join(told(explained))
    assert "known u      nowhere" in text
    assert "conditions   none" in text
    json.dumps(explained)


def test_a_class_without_a_docstring_is_asked_for_one():
    explained = explain("my.py:Silent", Silent(public.TimeCylinder(public.Cube(3), 2.0)), 3)
    assert explained["equation"] == NO_EQUATION
    assert explained["built_in_conditions"]


DESCRIPTIONS = {
    "|x| < 2 in R^d; direction uniform, radius uniform on (0, 2)": public.Ball(3, 2.0),
    "|x| = 1 in R^d; x uniform": public.Sphere(3),
    "[-1, 1]^d; x uniform": public.Cube(3, -1.0, 1.0),
    "R^d; x ~ N(0, I)": public.WholeSpace(3),
    "R^d; x ~ N(0, 0.5² I)": public.WholeSpace(3, 0.5),
    "R^d; x ~ N(0, I); t uniform on (0, 1)": public.TimeCylinder(public.WholeSpace(3)),
    "R^d; x ~ N(0, I); t uniform on (0, 1), at t = 0": public.AtTime(public.TimeCylinder(public.WholeSpace(3))),
    "R^d; x ~ N(0, 2|t − 0.3| I); t uniform on (0, 0.3)": public.DiffusionPaths(3, 0.3),
    "[-1, 1] × [0, 3.5]; x uniform": Box((-1.0, 0.0), (1.0, 3.5)),
    "[0, 1]^d; x uniform, at an end of x1": Faces(public.Cube(3), 0),
    "[0, 2]; x uniform; t uniform on (0, 1), at the upper end of x1": Faces(
        public.TimeCylinder(Box((0.0,), (2.0,))), 0, upper=True
    ),
}


@pytest.mark.parametrize(("words", "domain"), DESCRIPTIONS.items(), ids=DESCRIPTIONS)
def test_domains_say_where_points_lie(words, domain):
    assert domain.description == words
