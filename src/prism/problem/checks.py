"""A mistake in a family is named when it is built or first traced, in seconds, not met as a wrong answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.derivatives.directions import Decomposition
from prism.derivatives.estimators import Gaussian
from prism.derivatives.operators import Operator
from prism.derivatives.taylor import Jet, constant_jet, point_jet, polynomial_jet
from prism.errors import InputError
from prism.numerics.compilation import RUNS_ONCE, on_cpu
from prism.numerics.keys import Purpose, child, item, items
from prism.problem.constraints import Constraint
from prism.problem.domains import Domain
from prism.problem.family import Derivatives, Family
from prism.problem.kinks import check_smooth
from prism.problem.parameters import ParameterSpace
from prism.problem.terms import (
    Frame,
    constrained_value,
    decompositions,
    derivatives,
    draw_directions,
    place_at,
    sample_pair,
)
from prism.shapes import Key, Parameter, Point, Scalar, Vector

PAIRS = 8
"""Random pairs of a point and a parameter at which a family is tried."""


class _Recorded(Derivatives):
    """Derivatives that remember which of them were read."""

    def __init__(self, value: Scalar, terms: Mapping[str, Scalar]):
        super().__init__(value, terms)
        self.__dict__["_read"] = set()

    def __getattribute__(self, name: str):
        if not name.startswith("_"):
            object.__getattribute__(self, "__dict__").get("_read", set()).add(name)
        return object.__getattribute__(self, name)


def check_family(family: Family, key: Key) -> None:
    """Raise an InputError that names the first mistake in a family's declarations, shapes, values, use of μ or
    functions with kinks."""
    check_declarations(family)
    read = _check_trace(family, key)
    unread = [name for name in family.terms if name not in read]
    if unread:
        raise InputError(
            f'{_name(family)} declares the term "{unread[0]}" but residual never reads u.{unread[0]}; '
            "use it, or take it out of terms"
        )
    _check_values(family, key)
    check_smooth(family, child(key, Purpose.SLOPES))


def check_declarations(family: Family) -> None:
    """Raise an InputError that names what a family does not declare, or declares wrongly: domain, parameters, terms,
    constraint. Nothing is traced."""
    for attribute, kind, example in (
        ("domain", Domain, "domain: prism.Ball, and MyFamily(prism.Ball(100))"),
        ("parameters", ParameterSpace, "parameters = prism.Uniform(mu1=(0.5, 1.5))"),
        ("terms", Mapping, 'terms = {"lap": prism.Laplacian()}'),
    ):
        if not isinstance(getattr(family, attribute, None), kind):
            raise InputError(f"{_name(family)} has no valid {attribute}; declare it: {example}")
    for name, operator in family.terms.items():
        if not isinstance(operator, Operator):
            raise InputError(f'{_name(family)}: terms["{name}"] is {operator!r}; give an operator, prism.Laplacian()')
        if not name.isidentifier() or name == "value":
            raise InputError(f'{_name(family)}: a term cannot be called "{name}"; give a name to read as u.name')
    if not isinstance(family.constraint(), Constraint):
        raise InputError(f"{_name(family)}: constraint() must return a constraint, such as prism.vanishing(domain)")


def _check_trace(family: Family, key: Key) -> set[str]:
    """Trace the residual (and the exact solution) at one pair: names, shapes, control flow. Returns the terms read."""
    read: set[str] = set()

    def traced(x, mu, value, terms):
        u = _Recorded(value, terms)
        result = jnp.asarray(family.residual(u, x, family.parameters.named(mu)))
        read.update(object.__getattribute__(u, "__dict__")["_read"])
        return result

    x = jax.eval_shape(family.domain.sample, key)
    mu = jax.eval_shape(family.parameters.sample, key)
    number = jnp.zeros(())
    terms = dict.fromkeys(family.terms, number)
    _check_scalar(f"residual of {_name(family)}", traced, x, mu, number, terms)
    constrained = lambda x, mu: constrained_value(family, number, x, mu)
    _check_scalar(f"constraint of {_name(family)}", constrained, x, mu)
    if family.has_exact:
        exact = lambda x, mu: jnp.asarray(family.exact(x, family.parameters.named(mu)))
        _check_scalar(f"exact of {_name(family)}", exact, x, mu)
    return read


def _check_scalar(what: str, function, *arguments) -> None:
    try:
        shape = jax.eval_shape(function, *arguments).shape
    except InputError:
        raise
    except jax.errors.ConcretizationTypeError as error:
        raise InputError(
            f"{what} branches in Python on a value that is only known later; write jnp.where(condition, a, b) "
            "for `if`, jax.lax.fori_loop for a loop"
        ) from error
    except Exception as error:
        raise InputError(f"{what} raised {type(error).__name__}: {str(error).splitlines()[0]}") from error
    if shape != ():
        raise InputError(f"{what} has shape {shape} at one point; it must be one number (sum over coordinates?)")


def _check_values(family: Family, key: Key) -> None:
    """Finite values at random pairs, and a residual that every parameter moves."""
    look = jax.jit(jax.vmap(lambda one: _look(family, one)), compiler_options=on_cpu(RUNS_ONCE))
    parameters, sources, values, sensitivities = look(items(key, PAIRS))
    if sources is not None:
        _check_finite(family, "source", np.asarray(sources), np.asarray(parameters))
    _check_finite(family, "residual", np.asarray(values), np.asarray(parameters))
    for name, column in zip(family.parameters.names, np.asarray(sensitivities).T, strict=True):
        if np.all(column == 0.0) and all(condition.at_every_parameter for condition in family.conditions.values()):
            raise InputError(
                f"{_name(family)} never uses the parameter {name}: its residual does not change with it; "
                "use it in residual, source or constraint, or take it out of parameters"
            )


def _look(family: Family, key: Key) -> tuple[Parameter, Scalar | None, Vector, Float[Array, "values p"]]:
    """At one random pair: μ, the source, the residual with what the conditions prescribe, and their derivatives by μ.

    The residual is that of a wave N, whose jets are known in closed form: no network is compiled for it.
    """
    x, mu = sample_pair(family, key)
    prescribed = [condition for condition in family.conditions.values() if condition.at_every_parameter]
    draws = draw_directions(family, Gaussian(2), place_at(family, x, mu, None), child(key, Purpose.DIRECTIONS))

    def at(m: Parameter) -> Vector:
        place = place_at(family, x, m, None)
        u = derivatives(family, decompositions(family, draws, place), Wave(x), place)
        keys = [item(child(key, Purpose.CONDITIONS), number) for number in range(len(prescribed))]
        targets = [c.draw_at(m, family.parameters, k).value for c, k in zip(prescribed, keys, strict=True)]
        return jnp.stack([family.residual(u, x, place.mu), *targets])

    source = getattr(family, "source", None)
    found = None if source is None else source(x, family.parameters.named(mu))
    return mu, found, at(mu), jax.jacfwd(at)(mu)


@dataclass(frozen=True)
class Wave:
    """N(x) = sin(1 + Σx/√d), none of whose derivatives vanish:  along v  c_k = (Σv/√d)ᵏ sin(... + kπ/2) / k!."""

    x: Point

    def jets(self, frames: Sequence[Frame], decomposed: Sequence[Decomposition]) -> list[Jet]:
        return [self._jet(frame, found) for frame, found in zip(frames, decomposed, strict=True)]

    def _jet(self, frame: Frame, decomposition: Decomposition) -> Jet:
        like = constant_jet(self._phase, frame.order, frame.collapsed, decomposition.weights)
        steps = decomposition.directions.inner(jnp.full_like(self.x, self.x.shape[0] ** -0.5))
        coefficients = [
            steps**k * jnp.sin(self._phase + k * math.pi / 2) / math.factorial(k) for k in range(1, frame.order + 1)
        ]
        return polynomial_jet(jnp.sin(self._phase), coefficients, like)

    def value(self) -> Jet:
        return point_jet(jnp.sin(self._phase))

    @property
    def _phase(self) -> Scalar:
        return 1.0 + jnp.sum(self.x) * self.x.shape[0] ** -0.5


def _check_finite(family: Family, what: str, values: np.ndarray, parameters: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if len(bad):
        where = ", ".join(
            f"{name} = {value:.4g}" for name, value in zip(family.parameters.names, parameters[bad[0]], strict=True)
        )
        raise InputError(
            f"the {what} of {_name(family)} is not finite at {len(bad)} of {len(values)} random points, "
            f"such as at {where}; look for a division by zero, a root or a logarithm"
        )


def _name(family: Family) -> str:
    return type(family).__name__
