"""The lift of a network on the subspace  x(s) = x₀ + Σ_k s_k e_{i(k)}  of a few coordinates, in numbers that know no
dimension.

There a channel of degree two is given by its value, gradient and second derivatives at x₀, and a logarithmic norm is
the logarithm of such a channel. Of a sum over sites, only those that hold one of the coordinates are kept one by one;
all others do not change with them, so their coefficients are added up.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.errors import InputError
from prism.networks.lifts.lift import Lift
from prism.networks.lifts.norm import SquaredNorm
from prism.networks.lifts.sites import SiteSums
from prism.shapes import Point
from prism.solution.explorer.packing import packed

Content = dict[str, object]


@dataclass(frozen=True)
class Subspace:
    """The base x₀, and which coordinates move: those of space, and time behind them where there is time."""

    base: Float[np.ndarray, "coordinates"]
    indices: tuple[int, ...]

    def at(self, displacements: Float[Array, "moving"]) -> Point:
        """x(s)."""
        return jnp.asarray(self.base).at[jnp.asarray(self.indices)].add(displacements)


def restricted(lift: Lift, subspace: Subspace) -> list[Content]:
    """What the page computes the channels of the lift from, in their order; in double precision."""
    groups: list[Content] = [_polynomial(lambda x: x @ lift.weight + lift.bias, subspace)]
    for group in lift.groups:
        if isinstance(group, SiteSums):
            groups.append(_sites(group, subspace))
        elif isinstance(group, SquaredNorm) and group.part.logarithmic:
            form = _polynomial(lambda x, group=group: group.form(x)[None], subspace)
            numbers = {"epsilon": group.smallest, "mean": group.mean, "spread": group.spread}
            groups.append({**form, **numbers, "kind": "logarithm"})
        else:
            groups.append(_polynomial(lambda x, group=group: group(x, ()), subspace))
    return groups


def _polynomial(channels: Callable[[Point], Array], subspace: Subspace) -> Content:
    """z(s) = z + Σ_k s_k ∂_k z + ½ Σ_kl s_k s_l ∂²_kl z, all at the base; no second derivatives where they vanish."""
    origin = jnp.zeros(len(subspace.indices))
    at = lambda displacements: channels(subspace.at(displacements))
    base, first = np.asarray(at(origin)), np.moveaxis(np.asarray(jax.jacfwd(at)(origin)), -1, 0)
    second = np.moveaxis(np.asarray(jax.hessian(at)(origin)), 0, -1)
    return {
        "kind": "polynomial",
        "base": packed(base),
        "first": packed(first),
        "second": packed(second) if np.any(second) else None,
    }


def _sites(group: SiteSums, subspace: Subspace) -> Content:
    """The places that hold a moving coordinate, and the sum of the coefficients of all others."""
    network, places = group.network, np.asarray(group.places)
    moving = {place: number for number, place in enumerate(subspace.indices)}
    origins = (subspace.base[places] - group.centre) / group.unit
    here = np.isin(places, subspace.indices).any(axis=1)
    others = origins[~here] if np.any(~here) else np.zeros((1, places.shape[1]))
    if np.ptp(others, axis=0).max() > 0.0:
        raise InputError("sums over places need a slice whose other coordinates are all alike")
    coefficients = np.asarray(group.coefficients)
    shared = coefficients.ndim == 2
    rest = np.sum(~here) * coefficients if shared else coefficients[~here].sum(axis=0)
    arrays = ("first", "first_bias", "second", "second_bias")
    return {
        "kind": "sites",
        "windows": [[moving.get(int(place), -1) for place in window] for window in places[here]],
        "origins": origins[here].tolist(),
        "shared": shared,
        "coefficients": packed(coefficients if shared else coefficients[here]),
        "rest": packed(rest),
        "rest_origin": others[0].tolist(),
        **{name: packed(np.asarray(getattr(network, name))) for name in arrays},
        "unit": group.unit,
        "horizon": group.horizon,
        "base_time": 0.0 if group.horizon is None else 2.0 * float(subspace.base[-1]) / group.horizon - 1.0,
    }
