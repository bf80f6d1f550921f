"""A mistake in a potential is named before anything is trained: what it declares, and the values of its functions."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.numerics.arguments import check_function, check_whole, shown
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import Purpose, items, stream
from prism.problem.parameters import ParameterSpace
from prism.problem.potential import AtCoordinate, Pair, Potential
from prism.problem.user_code import calling, real_number

METHODS = {
    "single": ("y", "i", "mu"),
    "half_width": ("i",),
    "exact": ("mu", "levels"),
    "reference": ("mu",),
    "trivial": ("mu",),
}
"""The arguments of each method after self."""
SIDES = ("left", "right")
PLACES, RANDOM, CORNERS = 9, 6, 16
"""Points of an interval, random parameters, and corners of their box, at which functions are tried."""


def check_potential(potential: Potential) -> None:
    """Raise an InputError that names the first mistake."""
    name = type(potential).__name__
    check_whole(f"dimension of {name}", potential.dimension, 1)
    if not isinstance(getattr(potential, "parameters", None), ParameterSpace):
        raise InputError(f"{name} has no valid parameters; declare them: parameters = prism.Uniform(a=(0.5, 1.5))")
    for method, arguments in METHODS.items():
        form = f"def {method}({', '.join(('self', *arguments))})"
        check_function(f"{method} of {name}", getattr(potential, method), arguments, form)
    _check_pairs(potential, name)
    _check_widths(potential, name)
    parameters, found = _parameters(potential), []
    for what, function in _functions(potential).items():
        values = _values(potential, f"{what} of {name}", function, parameters)
        _check_finite(potential, f"{what} of {name}", values, parameters)
        found.append(values.reshape(len(parameters), -1))
    _check_parameters(potential, name, parameters, np.concatenate(found, axis=1))
    if potential.has_exact:
        _check_exact(potential, name, parameters)


def _check_pairs(potential: Potential, name: str) -> None:
    with calling(f"pairs of {name}"):
        pairs = potential.pairs
    if not isinstance(pairs, tuple) or not all(isinstance(pair, Pair) for pair in pairs):
        raise InputError(f"pairs of {name} is {shown(pairs)}; return a tuple, such as (prism.Pair(left, right),)")
    for pair in pairs:
        if pair.offset >= potential.dimension > 1:
            raise InputError(
                f"{name} has a pair with offset {pair.offset} and {potential.dimension} coordinates, no two of which "
                f"are a pair; give an offset below {potential.dimension}"
            )


def _check_widths(potential: Potential, name: str) -> None:
    what = f"half_width of {name}"
    with calling(what):
        widths = jax.vmap(lambda i: 1.0 * real_number(what, potential.half_width(i), whole=True))(_indices(potential))
    for i, width in zip(np.asarray(_indices(potential)), np.asarray(widths), strict=True):
        if not 0.0 < width < np.inf:
            raise InputError(f"{what} is {width:g} at i = {i}; give a positive finite number")


def _indices(potential: Potential) -> Array:
    return jnp.asarray(sorted({0, potential.dimension // 2, potential.dimension - 1}))


def _parameters(potential: Potential) -> Float[np.ndarray, "n p"]:
    """The middle of the box, the same with each parameter at both its ends, random ones, and corners."""
    space = potential.parameters
    drawn = jax.vmap(space.sample)(items(stream(0, Purpose.CHECK), RANDOM))
    middle, bounds = np.asarray(space.middle()), np.asarray([*space.bounds().values()])
    ends = [np.where(np.arange(space.size) == axis, end, middle) for axis in range(space.size) for end in bounds[axis]]
    corners = list(itertools.islice(itertools.product(*bounds), CORNERS))
    return np.concatenate([middle[None], np.asarray(ends), np.asarray(drawn), np.asarray(corners)])


def _functions(potential: Potential) -> dict[str, AtCoordinate]:
    sides = {f"pairs[{n}].{side}": getattr(pair, side) for n, pair in enumerate(potential.pairs) for side in SIDES}
    return {"single": potential.single, **sides}


def _values(
    potential: Potential, what: str, function: AtCoordinate, parameters: Float[np.ndarray, "n p"]
) -> Float[np.ndarray, "n i y"]:
    """At every parameter, some coordinates, and points over their intervals."""

    def at(mu: Array, i: Array, place: Array) -> Array:
        found = function(place * potential.half_width(i), i, potential.parameters.named(mu))
        return 1.0 * real_number(what, found, whole=True)

    over = jax.vmap(jax.vmap(jax.vmap(at, (None, None, 0)), (None, 0, None)), (0, None, None))
    with calling(what):
        compiled = jax.jit(over, compiler_options=on_cpu(RUNS_ONCE))
        return np.asarray(compiled(parameters, _indices(potential), jnp.linspace(-0.95, 0.95, PLACES)))


def _check_finite(
    potential: Potential, what: str, values: Float[np.ndarray, "n ..."], parameters: Float[np.ndarray, "n p"]
) -> None:
    for mu, found in zip(parameters, values, strict=True):
        if not np.all(np.isfinite(found)):
            where = ", ".join(f"{one} = {value:.4g}" for one, value in zip(potential.parameters.names, mu, strict=True))
            raise InputError(f"{what} is not finite at {where}; check roots, logarithms and quotients, or the bounds")


def _check_parameters(
    potential: Potential, name: str, parameters: Float[np.ndarray, "n p"], values: Float[np.ndarray, "n v"]
) -> None:
    """Each of them changes something between the middle and the ends of its interval."""
    for axis, parameter in enumerate(potential.parameters.names):
        at_ends = values[[1 + 2 * axis, 2 + 2 * axis]]
        if np.array_equal(at_ends[0], values[0]) and np.array_equal(at_ends[1], values[0]):
            raise InputError(f"{name} does not depend on {parameter}; use mu.{parameter}, or leave it out")


def _check_exact(potential: Potential, name: str, parameters: Float[np.ndarray, "n p"]) -> None:
    what = f"exact of {name}"
    with calling(what):
        found = jnp.asarray(potential.exact(potential.parameters.named(jnp.asarray(parameters[0])), 2))
    if found.ndim != 1 or not 1 <= len(found) <= 2:
        raise InputError(f"{what} has shape {found.shape} for 2 levels; return an array of so many, the lowest first")
    _check_finite(potential, what, np.asarray(found)[None], parameters[:1])
