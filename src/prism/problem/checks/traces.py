"""What JAX traces of a family: names, shapes, types, control flow, indices, and that it is the same at every call."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr
from jaxtyping import Array

from prism.derivatives.estimators import Gaussian
from prism.errors import InputError
from prism.numerics.keys import Purpose, child
from prism.problem.checks.declarations import name_of
from prism.problem.checks.indices import indices_beyond
from prism.problem.conditions import Condition, Target
from prism.problem.family import Derivatives, Family
from prism.problem.fingerprint import constants_of, trace_hash
from prism.problem.terms import constrained_value, decompositions, derivatives, draw_directions, place_at
from prism.problem.user_code import calling, real_number, user_line
from prism.problem.wave import Wave
from prism.shapes import Key, Named, Parameter, Point, Scalar


def check_traces(family: Family, key: Key) -> None:
    """Trace every function of a family at one pair (x, μ), none of which is compiled or run."""
    with calling(f"domain of {name_of(family)}"):
        x = jax.eval_shape(family.domain.sample, key)
    if x.shape != (family.domain.coordinates,):
        raise InputError(
            f"the domain of {name_of(family)} draws points of shape {x.shape}; give points of "
            f"{family.domain.coordinates} coordinates"
        )
    mu, number = jax.eval_shape(family.parameters.sample, key), jnp.zeros(())
    _check_residual(family, x, mu)
    what = f"constraint of {name_of(family)}"
    _trace(what, lambda x, mu: real_number(what, constrained_value(family, number, x, mu)), x, mu)
    _trace(f"term of {name_of(family)}", lambda x, mu, key: _terms(family, x, mu, key), x, mu, key)
    for name in ("exact", "affine", "background", "source"):
        if getattr(family, f"has_{name}", hasattr(family, name)):
            _check_field(family, name, getattr(family, name), x, mu)
    for name, condition in family.conditions.items():
        _check_condition(family, name, condition, key)


class _Recorded(Derivatives):
    """Derivatives that remember which of them were read."""

    def __init__(self, value: Scalar, terms: Mapping[str, Scalar]):
        super().__init__(value, terms)
        self.__dict__["_read"] = set()

    def __getattribute__(self, name: str):
        if not name.startswith("_"):
            object.__getattribute__(self, "__dict__").get("_read", set()).add(name)
        return object.__getattribute__(self, name)


def _check_residual(family: Family, x: Any, mu: Any) -> None:
    """One real number, which reads every term."""
    what, read = f"residual of {name_of(family)}", set()

    def residual(x: Point, mu: Parameter, value: Scalar, terms: dict[str, Scalar]) -> Array:
        u = _Recorded(value, terms)
        result = real_number(what, family.residual(u, x, family.parameters.named(mu)))
        read.update(object.__getattribute__(u, "__dict__")["_read"])
        return result

    _trace(what, residual, x, mu, jnp.zeros(()), dict.fromkeys(family.terms, jnp.zeros(())))
    unread = [name for name in family.terms if name not in read]
    if unread:
        raise InputError(
            f'{name_of(family)} declares the term "{unread[0]}" but residual never reads u.{unread[0]}; '
            "use it, or take it out of terms"
        )


def _terms(family: Family, x: Point, mu: Parameter, key: Key) -> list[Scalar]:
    """Every term of a wave, whose directions the user's own coefficients make."""
    place = place_at(family, x, mu, None)
    draws = draw_directions(family, Gaussian(2), place, child(key, Purpose.DIRECTIONS))
    u = derivatives(family, decompositions(family, draws, place), Wave(x), place)
    return [getattr(u, name) for name in family.terms]


def _check_field(family: Family, name: str, field: Callable[[Point, Named], Any], x: Any, mu: Any) -> None:
    """One real number at one pair."""
    what = f"{name} of {name_of(family)}"
    at = lambda x, mu: real_number(what, field(x, family.parameters.named(mu)), whole=True)
    _trace(what, at, x, mu)


def _check_condition(family: Family, name: str, condition: Condition, key: Key) -> None:
    """A point of the domain, a parameter and a number."""
    what, drawn = f'condition "{name}" of {name_of(family)}', []

    def draw(key: Key) -> Target:
        target = condition.draw(family.parameters, key)
        drawn.append((jnp.shape(target.x), jnp.shape(target.mu)))
        return target

    _trace(what, draw, key)
    wanted = (family.domain.coordinates,), (family.parameters.size,)
    for (found, expected), unit in zip(zip(drawn[0], wanted, strict=True), ("coordinates", "parameters"), strict=True):
        if found != expected:
            raise InputError(f"the {what} has {unit} of shape {found}; the family has {expected}")


def _trace(what: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Trace a function twice, and look at its indices."""
    first, second = _traced(what, function, arguments), _traced(what, function, arguments)
    if trace_hash(first) != trace_hash(second):
        raise InputError(
            f"the {what} is another function at each call, as with numbers of np.random, random or time, which are "
            "drawn once, when it is traced; draw them beforehand and make them a field of the family"
        )
    for beyond in indices_beyond(first):
        raise InputError(
            f"the {what} takes index {beyond.index} of an array of {beyond.size} entries{user_line(beyond.lines)}, "
            f"where JAX would silently use another entry; the last index is {beyond.size - 1}"
        )


def _traced(what: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> ClosedJaxpr:
    with calling(what):
        traced = jax.make_jaxpr(lambda *given: function(*given))(*arguments)  # a new function is traced anew
    if any(isinstance(constant, Tracer) for constant in constants_of(traced)):
        raise InputError(
            f"{what} uses a value that an earlier call kept, in a global or a field; use the arguments alone"
        )
    return traced
