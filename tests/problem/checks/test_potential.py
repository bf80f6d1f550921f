"""A mistake in a potential is named in one line; what is right passes."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from eigen.cases import BRAIDED, MODES, PLAIN, Wells

import prism
from prism.errors import InputError
from prism.families.anharmonic_chain import AnharmonicChain
from prism.problem.checks.potential import check_potential
from prism.problem.potential import Pair, Potential


@pytest.mark.parametrize("potential", [MODES, PLAIN, BRAIDED, Wells(1), AnharmonicChain.create(5)], ids=type)
def test_what_is_right_passes(potential):
    check_potential(potential)


class Chain(Potential):
    """Right, until a test makes one thing of it wrong."""

    dimension: int = eqx.field(static=True, default=4)
    parameters = prism.Uniform(a=(0.2, 1.0), c=(-1.0, 1.0))

    def single(self, y, i, mu):
        return y**2 + mu.a * y**4

    @property
    def pairs(self):
        return (Pair(lambda y, i, mu: mu.c**2 * y, lambda y, i, mu: y),)

    def half_width(self, i):
        return 5


def test_a_parameter_that_acts_the_same_at_both_ends_is_used():
    """c² at −1 and 1; and a width may be a whole number."""
    check_potential(Chain())


def made(**changes) -> Potential:
    return type("Chain", (Chain,), {"__module__": __name__, **changes})()


WRONG = {
    "no parameters": ({"parameters": None}, "Chain has no valid parameters"),
    "arguments": ({"single": lambda self, y, mu: y}, r"single of Chain takes \(y, mu\); write def single"),
    "nothing returned": ({"single": lambda self, y, i, mu: None}, "single of Chain returns nothing"),
    "a vector": ({"single": lambda self, y, i, mu: mu.a * jnp.stack([y, y])}, r"single of Chain has shape \(2,\)"),
    "complex": ({"single": lambda self, y, i, mu: 1j * y * mu.a}, "must be a real number"),
    "NumPy": ({"single": lambda self, y, i, mu: mu.a * np.sin(y)}, "calls NumPy .*write jnp for np"),
    "a branch": ({"single": lambda self, y, i, mu: mu.a if y > 0 else y}, "branches in Python"),
    "an unknown name": ({"single": lambda self, y, i, mu: mu.b * y}, "mu.b does not exist; the parameters are a, c"),
    "not finite": ({"single": lambda self, y, i, mu: jnp.log(mu.a - 0.5) + y**2}, "not finite at a = "),
    "an unused one": ({"single": lambda self, y, i, mu: y**2}, "Chain does not depend on a"),
    "pairs of nothing": ({"pairs": 3}, "pairs of Chain is 3; return a tuple"),
    "a list of pairs": ({"pairs": property(lambda self: [])}, "return a tuple"),
    "too far": (
        {"pairs": property(lambda self: (Pair(lambda y, i, mu: mu.c * y, lambda y, i, mu: y, offset=4),))},
        "offset 4 and 4 coordinates",
    ),
    "a wrong pair": (
        {"pairs": property(lambda self: (Pair(lambda y, mu: y, lambda y, i, mu: y),))},
        r"pairs\[0\].left of Chain raised TypeError",
    ),
    "a width below zero": ({"half_width": lambda self, i: -1.0}, "half_width of Chain is -1 at i = 0"),
    "an infinite width": ({"half_width": lambda self, i: jnp.inf}, "half_width of Chain is inf"),
    "a width that knows no place": ({"half_width": lambda self: 1.0}, "half_width of Chain takes"),
    "an exact number": ({"exact": lambda self, mu, levels: 1.0}, "exact of Chain has shape"),
    "an exact level that is not finite": (
        {"exact": lambda self, mu, levels: jnp.full(levels, jnp.nan)},
        "exact of Chain is not finite",
    ),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_named(changes, message):
    with pytest.raises(InputError, match=message) as error:
        check_potential(made(**changes))
    assert "\n" not in str(error.value)


def test_no_dimension_at_all_is_refused():
    with pytest.raises(InputError, match="dimension of Chain is 0"):
        check_potential(Chain(0))
