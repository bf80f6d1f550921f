"""What JAX traces of a family: names, shapes, types, control flow, indices, and that it is the same at every call."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr
from jaxtyping import Array

from prism.derivatives.estimators import Gaussian
from prism.errors import InputError
from prism.numerics.arguments import check_kind
from prism.numerics.keys import Purpose, child
from prism.problem.checks.declarations import name_of
from prism.problem.checks.indices import indices_beyond
from prism.problem.conditions import Condition, Target
from prism.problem.family import Derivatives, Family
from prism.problem.terms import constrained_value, decompositions, derivatives, draw_directions, place_at
from prism.problem.traced_programs import calls_python, constants_of, programs_in, trace_hash
from prism.problem.user_code import calling, real_number, user_line
from prism.problem.wave import Wave
from prism.shapes import Key, Named, Parameter, Point, Scalar

FIELDS = ("exact", "affine", "background", "source")
"""Functions of a point and a parameter that a family may have."""


def check_traces(family: Family, key: Key) -> dict[str, ClosedJaxpr]:
    """Trace every function of a family at one pair (x, μ), without compiling or running any; returns the
    traces by name."""
    with calling(f"domain of {name_of(family)}"):
        x = jax.eval_shape(family.domain.sample, key)
    if x.shape != (family.domain.coordinates,):
        raise InputError(
            f"the domain of {name_of(family)} draws points of shape {x.shape}; give points of "
            f"{family.domain.coordinates} coordinates"
        )
    mu, number = jax.eval_shape(family.parameters.sample, key), jnp.zeros(())
    what = f"constraint of {name_of(family)}"
    constrained = lambda x, mu: real_number(what, constrained_value(family, number, x, mu))
    fields = [name for name in FIELDS if getattr(family, f"has_{name}", hasattr(family, name))]
    return {
        "residual": _check_residual(family, x, mu),
        "constraint": _trace(what, constrained, x, mu, differentiated=1),
        "terms": _trace(f"term of {name_of(family)}", lambda x, mu, key: _terms(family, x, mu, key), x, mu, key),
        **{name: _check_field(family, name, getattr(family, name), x, mu) for name in fields},
        **{
            f"{name} {number}": trace
            for name, condition in family.conditions.items()
            for number, trace in enumerate(_check_condition(family, name, condition, mu, key))
        },
    }


class _Recorded(Derivatives):
    """Derivatives that remember which of them were read."""

    def __init__(self, value: Scalar, terms: Mapping[str, Scalar]):
        super().__init__(value, terms)
        self.__dict__["_read"] = set()

    def __getattribute__(self, name: str):
        if not name.startswith("_"):
            object.__getattribute__(self, "__dict__").get("_read", set()).add(name)
        return object.__getattribute__(self, name)


def _check_residual(family: Family, x: Any, mu: Any) -> ClosedJaxpr:
    """One real number, which reads every term."""
    what, read = f"residual of {name_of(family)}", set()

    def residual(x: Point, value: Scalar, terms: dict[str, Scalar], mu: Parameter) -> Array:
        u = _Recorded(value, terms)
        result = real_number(what, family.residual(u, x, family.parameters.named(mu)))
        read.update(object.__getattribute__(u, "__dict__")["_read"])
        return result

    nothing = dict.fromkeys(family.terms, jnp.zeros(()))
    trace = _trace(what, residual, x, jnp.zeros(()), nothing, mu, differentiated=3)
    unread = [name for name in family.terms if name not in read]
    if unread:
        raise InputError(
            f'{name_of(family)} declares the term "{unread[0]}" but residual never reads u.{unread[0]}; '
            "use it, or take it out of terms"
        )
    return trace


def _terms(family: Family, x: Point, mu: Parameter, key: Key) -> list[Scalar]:
    """Every term of a wave, whose directions the user's own coefficients make."""
    place = place_at(family, x, mu, None)
    draws = draw_directions(family, Gaussian(2), place, child(key, Purpose.DIRECTIONS))
    u = derivatives(family, decompositions(family, draws, place), Wave(x), place)
    return [getattr(u, name) for name in family.terms]


def _check_field(family: Family, name: str, field: Callable[[Point, Named], Any], x: Any, mu: Any) -> ClosedJaxpr:
    """One real number at one pair."""
    what = f"{name} of {name_of(family)}"
    at = lambda x, mu: real_number(what, field(x, family.parameters.named(mu)), whole=True)
    return _trace(what, at, x, mu)


def _check_condition(family: Family, name: str, condition: Condition, mu: Any, key: Key) -> list[ClosedJaxpr]:
    """A point of the domain, a parameter and a number, from each way of drawing them that it has."""
    what, space = f'condition "{name}" of {name_of(family)}', family.parameters
    drawn = lambda key: _checked_target(what, condition.draw(space, key), family)
    traces = [_trace(what, drawn, key)]
    if condition.at_every_parameter:
        way = f"draw_at of {what}"
        drawn_at = lambda mu, key: _checked_target(way, condition.draw_at(mu, space, key), family)
        traces.append(_trace(way, drawn_at, mu, key))
    return traces


def _checked_target(what: str, target: Any, family: Family) -> Target:
    """What was drawn, if it is a target whose point and parameter are of the family's sizes."""
    check_kind(f"what {what} draws", target, Target, "Target(x, mu, value) of prism.problem.conditions")
    for name, given in (("x", target.x), ("mu", target.mu)):
        check_kind(f"{name} of what {what} draws", given, jax.Array | np.ndarray, "an array")
    for unit, found, wanted in (
        ("coordinates", target.x, family.domain.coordinates),
        ("entries along which it is", target.x if target.along is None else target.along, family.domain.coordinates),
        ("parameters", target.mu, family.parameters.size),
    ):
        if jnp.shape(found) != (wanted,):
            raise InputError(f"the {what} has {unit} of shape {jnp.shape(found)}; the family has {(wanted,)}")
    return target


def _trace(what: str, function: Callable[..., Any], *arguments: Any, differentiated: int = 0) -> ClosedJaxpr:
    """Trace a function twice; refuse one that differs between calls, asks Python for values where JAX cannot batch or,
    by its first so many arguments, differentiate it, or takes indices beyond an array."""
    first, second = _traced(what, function, arguments), _traced(what, function, arguments)
    if trace_hash(first) != trace_hash(second):
        raise InputError(
            f"the {what} is another function at each call, as with numbers of np.random, random or time, which are "
            "drawn once, when it is traced; draw them beforehand and make them a field of the family"
        )
    _check_callbacks(what, first, function, arguments, differentiated)
    for beyond in indices_beyond(first):
        raise InputError(
            f"the {what} takes index {beyond.index} of an array of {beyond.size} entries{user_line(beyond.lines)}, "
            f"where JAX would silently use another entry; the last index is {beyond.size - 1}"
        )
    return first


def _check_callbacks(
    what: str, traced: ClosedJaxpr, function: Callable[..., Any], arguments: tuple[Any, ...], differentiated: int
) -> None:
    """Refuse a call of Python that JAX would refuse later: one that does not say how it is batched, or that is to be
    differentiated."""
    calls = [one for program in programs_in(traced) for one in program.jaxpr.eqns if calls_python(one)]
    if any(one.primitive.name == "pure_callback" and not one.params.get("vmap_method") for one in calls):
        raise InputError(
            f"the {what} asks Python for a value without saying how at many points; write it with jnp, or give "
            "pure_callback vmap_method='sequential'"
        )
    if not calls or not differentiated:
        return

    def tangent(*given: Any) -> Any:
        moving, still = given[:differentiated], given[differentiated:]
        return jax.jvp(lambda *moved: function(*moved, *still), moving, moving)[1]

    try:
        jax.make_jaxpr(tangent)(*arguments)
    except ValueError as error:
        raise InputError(
            f"the {what} asks Python for a value, which JAX cannot differentiate; write it with jnp, give it a rule by "
            "jax.custom_jvp, or take jax.lax.stop_gradient of what Python is given"
        ) from error


def _traced(what: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> ClosedJaxpr:
    with calling(what):
        traced = jax.make_jaxpr(lambda *given: function(*given))(*arguments)  # a new function is traced anew
    if any(isinstance(constant, Tracer) for constant in constants_of(traced)):
        raise InputError(
            f"{what} uses a value that an earlier call kept, in a global or a field; use the arguments alone"
        )
    return traced
