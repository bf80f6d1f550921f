"""A function of three arguments evaluated in stages, so that what the first ones alone decide is computed once.

    stages = Stages.of(f, a, b, c)             from the shapes of the arguments
    once = stages.begin(a)                     everything in f that a alone decides
    cached = stages.advance(once, b)           everything that a and b decide
    stages.finish(once.lasting, cached, c)     f(a, b, c)

A stage hands on nothing but what later ones read. So if f(weights, point, unknowns) reads a long point through a few
products and sums, the last stage is as small as those are, whatever else f does. What f calls under `jax.jit` or
`jax.lax.scan` is not divided: it belongs to the stage of the last of its arguments.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal, Var, jaxpr_as_fun
from jaxtyping import Array

Values = tuple[Array, ...]
BEGIN, ADVANCE, FINISH = range(3)


class Once(NamedTuple):
    """What the first argument decides: as the second stage reads it, and as the last one does."""

    passing: Values
    lasting: Values


@dataclass(frozen=True)
class Stages:
    """f(a, b, c) as three programs, and how many values the first one leaves for the second."""

    programs: tuple[ClosedJaxpr, ClosedJaxpr, ClosedJaxpr]
    constants: tuple[Any, ...]
    passing: int
    structure: Any

    @staticmethod
    def of(function: Callable, *arguments: Any) -> "Stages":
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
        jaxpr, equations, stage = closed.jaxpr, ([], [], []), dict.fromkeys(closed.jaxpr.constvars, BEGIN)
        given = _divided(jaxpr.invars, [len(jax.tree.leaves(argument)) for argument in arguments])
        stage |= {variable: number for number, variables in enumerate(given) for variable in variables}
        read = ({}, {}, dict.fromkeys(_variables(jaxpr.outvars)))
        for equation in jaxpr.eqns:
            inputs = _variables(equation.invars)
            number = max((stage[variable] for variable in inputs), default=BEGIN)
            stage |= dict.fromkeys(equation.outvars, number)
            read[number].update(dict.fromkeys(inputs))
            equations[number].append(equation)
        kept = lambda maker, reader: [variable for variable in read[reader] if stage[variable] == maker]
        passing, lasting, cached = kept(BEGIN, ADVANCE), kept(BEGIN, FINISH), kept(ADVANCE, FINISH)

        def program(number: int, inputs: Sequence, outputs: Sequence) -> ClosedJaxpr:
            names = jaxpr.debug_info.with_unknown_names()
            changes = {"invars": [*inputs], "outvars": [*outputs], "eqns": equations[number], "debug_info": names}
            return ClosedJaxpr(jaxpr.replace(constvars=[], **changes), [])

        programs = (
            program(BEGIN, [*jaxpr.constvars, *given[BEGIN]], [*passing, *lasting]),
            program(ADVANCE, [*passing, *given[ADVANCE]], cached),
            program(FINISH, [*lasting, *cached, *given[FINISH]], jaxpr.outvars),
        )
        return Stages(programs, tuple(closed.consts), len(passing), jax.tree.structure(shape))

    def begin(self, argument: Any) -> Once:
        constants = map(jnp.asarray, self.constants)  # as traced they may be arrays of NumPy
        values = tuple(jaxpr_as_fun(self.programs[BEGIN])(*constants, *jax.tree.leaves(argument)))
        return Once(values[: self.passing], values[self.passing :])

    def advance(self, once: Once, argument: Any) -> Values:
        return tuple(jaxpr_as_fun(self.programs[ADVANCE])(*once.passing, *jax.tree.leaves(argument)))

    def finish(self, lasting: Values, cached: Values, argument: Any) -> Any:
        outputs = jaxpr_as_fun(self.programs[FINISH])(*lasting, *cached, *jax.tree.leaves(argument))
        return jax.tree.unflatten(self.structure, outputs)


def _divided(variables: Sequence[Var], counts: Sequence[int]) -> list[Sequence[Var]]:
    """The first so many variables, the next so many, ..."""
    ends = [sum(counts[: number + 1]) for number in range(len(counts))]
    return [variables[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _variables(atoms: Iterable[Var | Literal]) -> list[Var]:
    return [atom for atom in atoms if not isinstance(atom, Literal)]
