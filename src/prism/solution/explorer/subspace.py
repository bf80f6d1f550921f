"""The lift of a network on the subspace  x(s) = x₀ + Σ_k s_k e_{i(k)}  of a few coordinates, in numbers that know no
dimension.

There a channel of degree two is given by its value, gradient and second derivatives at x₀, and a logarithmic norm is
the logarithm of such a channel. Of a sum over sites, the coefficients of those that see the same are
added up: all sites that hold none of the coordinates are one, where the others are alike.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

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
    groups: list[Content] = [_polynomial(lambda x: x @ lift.weight + lift.bias, subspace, linear=True)]
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


def _polynomial(channels: Callable[[Point], Array], subspace: Subspace, linear: bool = False) -> Content:
    """z(s) = z + Σ_k s_k ∂_k z + ½ Σ_kl s_k s_l ∂²_kl z, all at the base; no second derivatives where they vanish.

    Derivatives are taken forwards: backwards, each channel would have a gradient of the size of the dimension.
    """
    origin = jnp.zeros(len(subspace.indices))
    at = lambda displacements: channels(subspace.at(displacements))
    first = jax.jacfwd(at)
    second = None if linear else np.moveaxis(np.asarray(jax.jacfwd(first)(origin)), 0, -1)
    return {
        "kind": "polynomial",
        "base": packed(np.asarray(at(origin))),
        "first": packed(np.moveaxis(np.asarray(first(origin)), -1, 0)),
        "second": None if second is None or not np.any(second) else packed(second),
    }


def _sites(group: SiteSums, subspace: Subspace) -> Content:
    """Places that see the same, the coefficients of each such group added up: what a place sees is which of its
    coordinates move, and where they are at the base."""
    network, places = group.network, np.asarray(group.places)
    number = np.full(len(subspace.base), -1)
    number[list(subspace.indices)] = np.arange(len(subspace.indices))
    windows, origins = number[places], (subspace.base[places] - group.centre) / group.unit
    seen, member = np.unique(np.concatenate([windows, origins], axis=1), axis=0, return_inverse=True)
    coefficients, member = np.asarray(group.coefficients), member.reshape(-1)
    if coefficients.ndim == 2:
        summed = np.bincount(member, minlength=len(seen))[:, None, None] * coefficients[None]
    else:
        summed = np.zeros((len(seen), *coefficients.shape[1:]))
        np.add.at(summed, member, coefficients)
    arrays = ("first", "first_bias", "second", "second_bias")
    return {
        "kind": "sites",
        "windows": seen[:, : windows.shape[1]].astype(int).tolist(),
        "origins": seen[:, windows.shape[1] :].tolist(),
        "coefficients": packed(summed),
        **{name: packed(np.asarray(getattr(network, name))) for name in arrays},
        "unit": group.unit,
        "horizon": group.horizon,
        "base_time": 0.0 if group.horizon is None else 2.0 * float(subspace.base[-1]) / group.horizon - 1.0,
    }
