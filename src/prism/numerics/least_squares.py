"""Levenberg's and Marquardt's damped Gauss-Newton step for  min |e(u)|²,  within a box if there is one.

    δ = argmin  |e + Jδ|² + λ |Dδ|²,     D the lengths of J's columns,

solved by QR of the stacked matrix, which keeps the digits that JᵀJ would lose. λ follows Nielsen's rule from the gain,
the decrease of |e|² over the one its linear model predicted (Madsen, Nielsen and Tingleff 2004, algorithm 3.16).

The state of a search goes in and comes out; when to stop is the caller's decision. Axes before the last are separate
searches, side by side. The same lines serve `jax.numpy` arrays, inside `jit` too, and NumPy's: what is evaluated in
float32 can be solved in float64.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float

Numbers = Array | np.ndarray
Unknowns = Float[Numbers, "*searches n"]
Errors = Float[Numbers, "*searches rows"]
Jacobian = Float[Numbers, "*searches rows n"]
PerSearch = Float[Numbers, "*searches"]
Free = Bool[Numbers, "*searches n"]
Evaluate = Callable[[Any], tuple[Any, Any]]
"""u ↦ (e, ∂e/∂u), for all searches at once and in the kind of array that u is."""

FIRST_DAMPING = 0.3
FIRST_GROWTH = 2.0


class Box(NamedTuple):
    """Bounds of every unknown: numbers, or arrays of the unknowns' shape."""

    low: float | Numbers
    high: float | Numbers


class Levenberg(eqx.Module):
    """Where the searches stand: the unknowns, e, ∂e/∂u and |e|² there, and how little the linear model is trusted.

    `damping` is λ, and `growth` its factor if the next step fails. `moved` says whether the last step was taken.
    """

    unknowns: Unknowns
    errors: Errors
    jacobian: Jacobian
    cost: PerSearch
    damping: PerSearch
    growth: PerSearch
    moved: Bool[Numbers, "*searches"]

    @staticmethod
    def start(unknowns: Unknowns, count: int, damping: float = FIRST_DAMPING) -> "Levenberg":
        """A state where nothing is evaluated yet, of `count` errors: its first step stays where it is and evaluates."""
        xp, searches = namespace(unknowns), unknowns.shape[:-1]
        constant = lambda value: xp.full(searches, value, dtype=unknowns.dtype)
        return Levenberg(
            unknowns=unknowns,
            errors=xp.zeros((*searches, count), dtype=unknowns.dtype),
            jacobian=xp.zeros((*searches, count, unknowns.shape[-1]), dtype=unknowns.dtype),
            cost=constant(xp.inf),
            damping=constant(damping),
            growth=constant(FIRST_GROWTH),
            moved=xp.zeros(searches, dtype=bool),
        )

    def step(self, evaluate: Evaluate, box: Box | None = None, free: Free | None = None) -> "Levenberg":
        """Each search moved if that lowers its |e|²; else it stays, with more damping."""
        return self.judged(self.proposed(box, free), evaluate)

    def proposed(self, box: Box | None = None, free: Free | None = None) -> Unknowns:
        """Where the damped step leads, cut off at the box. Unknowns that are not free stay where they are, and those
        at a bound that the gradient pushes outwards."""
        if box is None and free is None:
            return self.unknowns + damped_step(self.jacobian, self.errors, self.damping)
        xp = namespace(self.unknowns)
        able = xp.ones(self.unknowns.shape, dtype=bool) if free is None else free
        if box is not None:
            gradient = xp.sum(self.jacobian * self.errors[..., None], axis=-2)
            below, above = self.unknowns <= box.low, self.unknowns >= box.high
            able = able & ~(below & (gradient > 0.0)) & ~(above & (gradient < 0.0))
        jacobian = xp.where(able[..., None, :], self.jacobian, 0.0)
        there = xp.where(able, self.unknowns + damped_step(jacobian, self.errors, self.damping), self.unknowns)
        return there if box is None else xp.clip(there, box.low, box.high)

    def judged(self, proposed: Unknowns, evaluate: Evaluate) -> "Levenberg":
        """Each search at its proposed unknowns if |e|² is smaller there; the damping follows from the gain."""
        xp = namespace(self.unknowns)
        errors, jacobian = evaluate(proposed)
        cost = xp.sum(errors**2, axis=-1)
        # Beside columns of length one, less damping would be lost in rounding, and more would leave no step.
        least = np.finfo(self.unknowns.dtype).eps ** 2
        eased, raised = self.damping * self._damping_factor(proposed, errors), self.damping * self.growth
        better = xp.asarray((cost < self.cost) & xp.all(xp.isfinite(jacobian), axis=(-2, -1)))

        per_search = lambda flags, rank: flags.reshape(flags.shape + (1,) * (rank - flags.ndim))
        chosen = lambda new, old: xp.where(per_search(better, old.ndim), new, old)
        return Levenberg(
            unknowns=chosen(proposed, self.unknowns),
            errors=chosen(errors, self.errors),
            jacobian=chosen(jacobian, self.jacobian),
            cost=chosen(cost, self.cost),
            damping=chosen(xp.maximum(eased, least), xp.minimum(raised, 1.0 / least)),
            growth=chosen(FIRST_GROWTH, xp.minimum(2.0 * self.growth, 1.0 / least)),
            moved=better,
        )

    def _damping_factor(self, proposed: Unknowns, errors: Errors) -> PerSearch:
        """Nielsen's: 1/3 where the linear model was right, 1 where half of what it predicted came or it predicted
        nothing, 2 where nothing came."""
        xp = namespace(self.unknowns)
        linear = xp.sum(self.jacobian * (proposed - self.unknowns)[..., None, :], axis=-1)
        # |e|² − |e + Jδ|² without subtracting nearly equal sums.
        predicted = -xp.sum(linear * (2.0 * self.errors + linear), axis=-1)
        decrease = xp.minimum(self.cost - xp.sum(errors**2, axis=-1), predicted)
        gain = xp.clip(decrease / xp.where(predicted > 0.0, predicted, 1.0), 0.0, 1.0)
        return xp.where(predicted > 0.0, xp.maximum(1 / 3, 1.0 - (2.0 * gain - 1.0) ** 3), 1.0)


def damped_step(jacobian: Jacobian, errors: Errors, damping: PerSearch) -> Unknowns:
    """δ, with columns brought to length one; a column of zeros gives zero."""
    xp, count = namespace(errors), jacobian.shape[-1]
    lengths = xp.sqrt(xp.sum(jacobian**2, axis=-2))
    lengths = xp.where(lengths > 0.0, lengths, 1.0)
    identity = xp.broadcast_to(xp.eye(count, dtype=errors.dtype), (*lengths.shape, count))
    matrix = xp.concatenate([jacobian / lengths[..., None, :], xp.sqrt(damping)[..., None, None] * identity], axis=-2)
    target = xp.concatenate([-errors, xp.zeros_like(lengths)], axis=-1)
    # With the target as one more column, QR gives Qᵀ target without forming Q.
    triangle = xp.linalg.qr(xp.concatenate([matrix, target[..., None]], axis=-1), mode="r")[..., :count, :]
    return xp.linalg.solve(triangle[..., :-1], triangle[..., -1:])[..., 0] / lengths


def namespace(array: Numbers) -> Any:
    """The module whose functions take this array: numpy or jax.numpy."""
    return array.__array_namespace__()
