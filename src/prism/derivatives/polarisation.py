"""A mixed partial derivative from derivatives along single directions (Kan, J. Multivariate Anal. 99, 2008).

With α the multi-index, K = |α| and h = α − 2k:  x^α = 1/(2ᴷ K!) Σ_{0≤k≤α} (−1)^{|k|} Π_i C(α_i, k_i) (h·x)ᴷ.
"""

import itertools
import math
from fractions import Fraction

import numpy as np


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
