"""`solution.plot`: every picture by its name, of any two coordinates, and what cannot be drawn is named."""

import pytest
from helpers import KEY, linear
from solution.networks import random_network

import prism
from prism.families import Convection, SineGordon
from prism.networks.model import Architecture
from prism.solution import plotting, slices
from prism.solution.history import Training
from prism.solution.solution import Solution
from prism.solution.training_record import TrainingRecord


class Unknown(prism.Family):
    """Δu = μ in the ball, without an exact solution."""

    domain: prism.Ball
    parameters = prism.Uniform(mu=(1.0, 2.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - mu.mu

    def constraint(self):
        return prism.vanishing(self.domain)


def solution_of(family, **training) -> Solution:
    model = random_network(family, Architecture(linear(3), 3, 2, 3, 1))
    return Solution(model, family, Training(**training))


HISTORY = tuple(TrainingRecord(n, 0.5 * n, 1.0 / n, None, None, 0) for n in range(1, 6))
KNOWN, TIMED, UNKNOWN = (
    solution_of(SineGordon.create(4, KEY), history=HISTORY),
    solution_of(Convection.create(4, KEY)),
    solution_of(Unknown(prism.Ball(3)), history=HISTORY),
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few points: what is drawn matters, not how finely."""
    monkeypatch.setattr(plotting, "POINTS", 50)
    monkeypatch.setattr(plotting, "RESIDUALS", 40)
    monkeypatch.setattr(slices, "SLICE_WORK", 1e3)


def titles(figure) -> list[str]:
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def test_time_starts_at_zero():
    (left,) = KNOWN.plot.convergence().axes  # nothing is known of errors here
    assert left.get_xlim()[0] == 0.0
    assert left.lines[0].get_xdata().tolist() == [0.5, 1.0, 1.5, 2.0, 2.5]
    assert titles(KNOWN.plot()) == titles(KNOWN.plot.convergence())
    assert titles(TIMED.plot())[0].startswith("prediction")


def test_a_slice_of_any_two_coordinates():
    figure = KNOWN.plot.slice("x2", "x4", mu1=0.7, mu2=1.2)
    assert titles(figure)[:2] == ["prediction, mu1 = 0.7, mu2 = 1.2", "exact, mu1 = 0.7, mu2 = 1.2"]
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("$x_{2}$", "$x_{4}$")
    assert len(titles(TIMED.plot.slice("x3", "t"))) == 9, "the ends of the box and its middle"
    assert len(titles(UNKNOWN.plot.slice())) == 1


def test_distributions():
    assert titles(KNOWN.plot.quantiles()) == ["errors of held-out points"]
    assert titles(UNKNOWN.plot.quantiles()) == ["residuals of held-out points"]
    assert titles(KNOWN.plot.predicted_against_exact()) == ["predicted against exact"]


REFUSED = {
    "another coordinate": (lambda: KNOWN.plot.slice("x1", "x5"), "no coordinate 'x5'; they are x1 to x4"),
    "no time": (lambda: KNOWN.plot.slice("x1", "t"), "no coordinate 't'"),
    "time": (lambda: TIMED.plot.slice("y"), "they are x1 to x4, and t"),
    "the same twice": (lambda: KNOWN.plot.slice("x1", "x1"), "two different coordinates"),
    "no truth": (lambda: UNKNOWN.plot.predicted_against_exact(), "Unknown has no exact solution to compare with"),
    "no history": (lambda: TIMED.plot.convergence(), "has no history"),
}


@pytest.mark.parametrize(("draw", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_drawn_is_named(draw, message):
    with pytest.raises(prism.InputError, match=message):
        draw()
