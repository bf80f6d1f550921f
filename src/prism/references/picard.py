"""u(x, t) = E g(x + √(2t) Z) + E ∫_0^t f(u(x + √(2(t−r)) Z, r)) dr:  multilevel Picard iteration in any dimension.

The solution of u_t = Δu + f(u), u(x, 0) = g(x), not radial in general. Iterates U_n at one point are sums over levels,

    U_n(x, t) = mean of M^n values of g + Σ_{l<n} mean of M^{n−l} values of t·[f(U_l) − f(U_{l−1})](X_r, r),

with f(U_{−1}) read as 0, r uniform on (0, t) and every U below from draws of its own. U_0 is zero or a given `start`.
Where v = E g(x + √(2t) Z) is known (`diffused`) the first sum is exact, the start is by default the flow of w' = f(w)
from w = v, and its linear part in v(X_r, r), whose mean is known, takes most of the variance off f(U_0).
Reference: E, Hutzenthaler, Jentzen, Kruse, "Multilevel Picard iterations for solving smooth semilinear parabolic heat
equations", Partial Differential Equations and Applications 2, 2021.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.stats import t as student

from prism.errors import InputError
from prism.formulas.flow import reaction_flow
from prism.numerics.keys import items
from prism.references.reference import Reference
from prism.references.sampling import mapped, normal_vector
from prism.shapes import Key, Keys, Point, Scalar

Field = Callable[[Array, Array], Array]
"""A function of one point and a time."""
Values = Float[Array, "..."]
"""One value, or one for each of the parameters that the reaction closes over."""

CONFIDENCE = 0.997
"""Of the interval of the uncertainty, by Student's law."""
RATIOS = (0.1, 0.5)
"""Between which the ratio of Picard steps is believed: it falls with every step, and two may agree by chance."""
ROUNDING = 1e-7
"""Relative uncertainty at least: that of numbers drawn in single precision, and of the scalar flow."""
FIELD_NUMBERS = 16
"""Numbers for each coordinate that a start or a diffused initial state may hold at once."""


def multilevel_picards(
    initial: Callable[[Array], Array],
    reaction: Callable[[Array], Array],
    x: np.ndarray | Array,
    time: float,
    key: Key,
    levels: int = 2,
    samples: int = 16,
    repetitions: int = 16,
    start: Field | None = None,
    diffused: Field | None = None,
) -> list[Reference]:
    """u at one point `x` and `time`: the mean of independent repetitions of U_n with n = `levels` and M = `samples`.

    One value, or one for each of many parameters from the same draws, where `reaction` closes over arrays of one axis:
    the work is hardly more, and the values share their sampling error. The uncertainty is a 99.7 % interval of the mean
    plus what Picard's iteration leaves out after its last step, judged by the last two. Two levels suffice where
    `diffused` is given and d is large; three give 1e-4 to 1e-3 elsewhere.

    >>> from prism.numerics.keys import root
    >>> (found,) = multilevel_picards(jnp.sum, lambda u: 1.0 - u, np.ones(2), 0.1, root(0))
    >>> bool(abs(found.value - (1 + np.exp(-0.1))) < found.uncertainty < 0.2)
    True
    >>> mu = np.array([0.5, 1.0, 2.0])
    >>> found = multilevel_picards(jnp.sum, lambda u: -mu * u, np.ones(2), 0.1, root(0), repetitions=4)
    >>> all(abs(one.value - 2 * np.exp(-0.1 * rate)) < one.uncertainty for one, rate in zip(found, mu))
    True
    """
    if not time > 0.0:
        raise InputError(f"multilevel Picard iteration at time {time:g}; give a time above 0")
    if levels < 2 or samples < 1 or repetitions < 2:
        raise InputError(f"{levels} levels, {samples} samples, {repetitions} repetitions; give at least 2, 1 and 2")
    with jax.enable_x64(True):
        point, end = jnp.asarray(x, jnp.float64), jnp.asarray(time, jnp.float64)
        iteration = _Iteration(initial, reaction, start, diffused, samples)
        zeroth = np.asarray(iteration.zeroth(point, end))
        terms = iteration.repeated(levels, point, end, key, repetitions)
    values = np.sum(terms, axis=1)
    means, deviations = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
    quantile = float(student.ppf((1.0 + CONFIDENCE) / 2.0, repetitions - 1))
    sampling = quantile * deviations / np.sqrt(repetitions)
    errors = sampling + _truncation(np.mean(terms, axis=0), zeroth) + ROUNDING * np.abs(means)
    method = f"multilevel Picard, {levels} levels, {repetitions} repetitions with {samples} samples"
    return [Reference(float(u), float(error), method) for u, error in zip(means, errors, strict=True)]


def _truncation(terms: Float[np.ndarray, "terms n"], zeroth: Float[np.ndarray, "..."]) -> Float[np.ndarray, "n"]:
    """What a geometric series leaves out after the last step: |δ_n| r/(1 − r) with r = |δ_n / δ_{n−1}|.

    δ_k = E U_k − E U_{k−1} is the mean of the term l = k − 1, but for the first, which holds all of U_1.
    """
    steps = np.concatenate([(terms[0] + terms[1] - zeroth)[None], terms[2:]])
    last, before = np.abs(steps[-1]), np.maximum(np.abs(steps[-2]), np.finfo(float).tiny)
    ratio = np.clip(last / before, *RATIOS)
    return last * ratio / (1.0 - ratio)


@dataclass(frozen=True)
class _Iteration:
    """The equation with the number M of samples."""

    initial: Callable[[Array], Array]
    reaction: Callable[[Array], Array]
    start: Field | None
    diffused: Field | None
    samples: int

    def repeated(
        self, level: int, x: Point, time: Scalar, key: Key, repetitions: int
    ) -> Float[np.ndarray, "repetitions terms parameters"]:
        """The terms of U_n by independent repetitions."""
        keys = jax.vmap(lambda own: items(own, self._draws(level)))(items(key, repetitions))
        one = lambda own: self.terms(level, x, time, own)
        run = lambda keys: mapped(one, keys, self._draws(level) * self._numbers(x))
        return np.asarray(jax.jit(run)(keys)).reshape(repetitions, level + 1, -1)

    def terms(self, level: int, x: Point, time: Scalar, keys: Keys) -> Float[Array, "terms ..."]:
        """What U_n is the sum of, n ≥ 1: the mean of g, and the term of each level."""
        own, keys = keys[: self._initial_draws(level)], keys[self._initial_draws(level) :]
        parts = [self._mean_initial(x, time, own)]
        for lower in range(level):
            count, each = self.samples ** (level - lower), self._difference_draws(lower)
            own, keys = keys[: count * each].reshape(count, each), keys[count * each :]
            one = lambda keys, lower=lower: self._difference(lower, x, time, parts[0], keys)
            parts.append(time * jnp.mean(mapped(one, own, each * self._numbers(x)), axis=0))
        parts[1] += self._mean_control(parts[0], time)
        return jnp.stack(jnp.broadcast_arrays(*parts))

    def iterate(self, level: int, x: Point, time: Scalar, keys: Keys) -> Values:
        """U_n(x, t), with a key for each vector that it draws."""
        return jnp.sum(self.terms(level, x, time, keys), axis=0) if level else self.zeroth(x, time)

    def zeroth(self, x: Point, time: Scalar) -> Values:
        """U_0(x, t): the given start, the flow of the diffused initial state, or zero."""
        if self.start is not None:
            return self.start(x, time)
        if self.diffused is not None:
            return reaction_flow(self.reaction, self.diffused(x, time), time)
        return jnp.zeros(())

    def _draws(self, level: int) -> int:
        """How many vectors U_n draws."""
        return self._initial_draws(level) + sum(
            self.samples ** (level - lower) * self._difference_draws(lower) for lower in range(level)
        )

    def _initial_draws(self, level: int) -> int:
        return self.samples**level if level and self.diffused is None else 0

    def _difference_draws(self, level: int) -> int:
        return 1 + self._draws(level) + (self._draws(level - 1) if level else 0)

    def _numbers(self, x: Point) -> int:
        """How many numbers are held for each vector that is drawn."""
        return len(x) if self.start is None and self.diffused is None else FIELD_NUMBERS * len(x)

    def _mean_initial(self, x: Point, time: Scalar, keys: Keys) -> Scalar:
        if self.diffused is not None:
            return self.diffused(x, time)
        value = lambda key: self.initial(x + jnp.sqrt(2.0 * time) * normal_vector(key, len(x)))
        return jnp.mean(mapped(value, keys, len(x)))

    def _difference(self, level: int, x: Point, time: Scalar, mean_initial: Scalar, keys: Keys) -> Values:
        """f(U_l) − f(U_{l−1}) at a random time r, uniform as the law Φ of one more normal number, and a place X_r."""
        drawn = normal_vector(keys[0], len(x) + 1)
        when = time * jax.scipy.special.ndtr(drawn[-1])
        place = x + jnp.sqrt(2.0 * (time - when)) * drawn[:-1]
        if level == 0:
            return self.reaction(self.zeroth(place, when)) - self._control(mean_initial, place, when)
        newer, older = keys[1 : 1 + self._draws(level)], keys[1 + self._draws(level) :]
        before = self.reaction(self.iterate(level - 1, place, when, older))
        return self.reaction(self.iterate(level, place, when, newer)) - before

    def _control(self, mean_initial: Scalar, place: Point, when: Scalar) -> Values:
        """What varies as f(U_0) does: f along the flow from v(X_r, r), linearised about v(x, t)."""
        if self.diffused is None:
            return jnp.zeros(())
        along = lambda w: self.reaction(reaction_flow(self.reaction, w, when))
        value, change = jax.jvp(along, (mean_initial,), (self.diffused(place, when) - mean_initial,))
        return value + change

    def _mean_control(self, mean_initial: Scalar, time: Scalar) -> Values:
        """The mean of t times that: the way that the flow goes from v(x, t)."""
        if self.diffused is None:
            return jnp.zeros(())
        return reaction_flow(self.reaction, mean_initial, time) - mean_initial
