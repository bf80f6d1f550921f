"""A mixed partial derivative from derivatives along single directions (Kan, J. Multivariate Anal. 99, 2008).

With α the multi-index, K = |α| and h = α − 2k:  x^α = 1/(2ᴷ K!) Σ_{0≤k≤α} (−1)^{|k|} Π_i C(α_i, k_i) (h·x)ᴷ.
"""

import itertools
import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def polarise(multi_index: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Directions h and weights w with Σ_j w_j Dᴷu[h_j, ..., h_j] = ∂^α u: Kan's formula, parallel terms merged."""
    order = sum(multi_index)
    merged: dict[tuple[int, ...], Fraction] = {}
    for k in itertools.product(*[range(a + 1) for a in multi_index]):
        h = tuple(a - 2 * b for a, b in zip(multi_index, k, strict=True))
        length = math.gcd(*h)
        if length == 0:
            continue
        leading = next(entry for entry in h if entry)
        signed_length = length if leading > 0 else -length
        primitive = tuple(entry // signed_length for entry in h)
        binomials = math.prod(math.comb(a, b) for a, b in zip(multi_index, k, strict=True))
        weight = Fraction((-1) ** sum(k) * binomials, 2**order * math.factorial(order))
        merged[primitive] = merged.get(primitive, Fraction(0)) + weight * signed_length**order
    kept = {direction: weight for direction, weight in merged.items() if weight}
    return np.array(list(kept), dtype=float), np.array([float(weight) for weight in kept.values()])


def fourth_powers(
    singles: Float[Array, "k"], pairs: Float[Array, "k k"]
) -> tuple[Float[np.ndarray, "kk k"], Float[Array, "kk"]]:
    """Σ_a s_a a⁴ + Σ_{a<b} p_ab a²b² of k vectors as fourth powers: the coefficients of each in these vectors, and its
    weight. By polarisation  12 a²b² = (a+b)⁴ + (a−b)⁴ − 2a⁴ − 2b⁴."""
    first, second = np.triu_indices(singles.shape[0], 1)
    units, among = np.eye(singles.shape[0]), pairs[first, second] / 12.0
    alone = singles.at[first].add(-2.0 * among).at[second].add(-2.0 * among)
    combined = np.concatenate([units, units[first] + units[second], units[first] - units[second]])
    return combined, jnp.concatenate([alone, among, among])
