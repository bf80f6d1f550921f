"""Every term of a family at once, found through jets and by nested automatic differentiation of the formula."""

import functools
import math

import equinox as eqx
import jax
import numpy as np
from helpers import (
    FEW,
    Case,
    Terms,
    name_of,
    network_formula,
    oracle,
    samples,
    small_model,
    solution_formula,
    term_values,
)

from prism import Free


class FreeTerms(Terms):
    """The same operators where the network itself is the solution."""

    def constraint(self) -> Free:
        return Free()


def free_formula(model, family):
    """u(x; μ) written out where the network itself is the solution."""
    return functools.partial(network_formula, model)


def family_of(cases, kind=Terms) -> Terms:
    """All these operators of one domain together: one program to compile instead of many."""
    return kind(cases[0].domain, {name_of(case.operator): case.operator for case in cases})


def unbiased(case: Case, estimator) -> bool:
    return case.isotropic is not None and max(case.operator.order, 2) in estimator.unbiased_orders


@functools.cache
def places(domain, count: int = 3):
    return samples(domain, count), samples(Terms.parameters, count)


def true_terms(family: Terms, solution, x, mu) -> dict:
    """u and every term at one place, where u is the solution."""
    named, u = family.parameters.named(mu), lambda y: solution(y, mu)
    found = {name: oracle(operator, family.domain, u, x, named) for name, operator in family.terms.items()}
    return found | {"value": u(x)}


def oracles(family: Terms, formula=solution_formula, lift=FEW, depth: int = 2) -> dict[str, np.ndarray]:
    """u and every term at the places."""
    solution = formula(small_model(family.domain, depth=depth, lift=lift), family)
    terms = jax.jit(jax.vmap(lambda x, mu: true_terms(family, solution, x, mu)))
    return terms(*places(family.domain))


@eqx.filter_jit
def computed(family: Terms, estimator, x, mu, keys, lift=FEW, depth: int = 2) -> dict:
    """u and every term at one place for every key, or at several places with one key each."""
    model = small_model(family.domain, depth=depth, lift=lift)
    one = lambda x, mu, key: term_values(model, family, estimator, x, mu, key)
    place = 0 if x.ndim == 2 else None
    return jax.vmap(one, in_axes=(place, place, 0))(x, mu, keys)


def check_mean(family: Terms, estimator, keys, truth, lift=FEW, depth: int = 2) -> None:
    """The mean over the keys within 4 of its standard errors, at most 1.5 % of the value at the best place."""
    pairs = zip(*places(family.domain), strict=True)
    at_places = [computed(family, estimator, x, mu, keys, lift, depth) for x, mu in pairs]
    for name in family.terms:
        draws, terms = np.stack([found[name] for found in at_places]), np.asarray(truth[name])
        error = draws.std(axis=1) / math.sqrt(len(keys))
        assert np.min(error / np.abs(terms)) < 0.015, name
        assert np.all(np.abs(draws.mean(axis=1) - terms) < 4 * error + 1e-10 * np.abs(terms)), name
