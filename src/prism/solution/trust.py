"""How far to trust a solution at a queried μ: from its residual there, which needs no exact solution.

    ρ(μ) = rms r(x; μ) / rms r₀(x; μ),      r₀ the residual of N = 0;       error ≈ c(μ)·ρ(μ)

c comes from held-out μ of the trained box and of rings around it (`rings.py`), where the family knows its exact
solution; elsewhere ρ is compared with its distribution over the box, and no error is claimed. Nor is it further than
one box width outside.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.errors import FailedRun
from prism.networks.model import Model
from prism.numerics.chunks import map_chunks
from prism.numerics.keys import Purpose, child, item, items, stream
from prism.objective.batches import Sampling, draw_batch
from prism.objective.estimation import judging_estimator
from prism.objective.residuals import batch_residuals, span_width
from prism.objective.units import for_constants, residual_scale
from prism.problem.family import Family
from prism.shapes import Key, Parameter
from prism.solution.evaluation import errors_at
from prism.solution.rings import BOUNDS, LEVEL, Ring, Sides, ring_at, sample_outside, sides

POINTS, PARAMETERS, ERROR_POINTS = 64, 128, 500
"""Points of a residual's root mean square, held-out μ of the box and of each ring, points of an error there."""
WORK, FEW_POINTS, FEWEST_PARAMETERS = 2e9, 64, 40
"""How many coordinates of exact solutions a calibration may compute. In many dimensions there are first fewer points of
an error, then fewer μ, in the end fewer points again."""
CANDIDATES, TRIED_POINTS = 2, 4
"""So many times as many μ are drawn in a ring, and those taken where the exact solution is finite at these points."""
CHUNK, CHUNK_NUMBERS = 16, 64_000_000
"""Parameters that are worked on at once, and coordinates of their residuals."""


@dataclass(frozen=True)
class Estimate:
    """The relative L2 error that a residual means at one μ, and what that rests on; without an error, why not."""

    basis: str
    ring: Ring | None = None
    error: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Calibration:
    """What is known of a solution: its residuals over the trained box, and error / residual there and around it."""

    residuals: tuple[float, ...]
    rings: tuple[Ring, ...]
    """From the inside out; none without an exact solution."""

    def fits(self, family: Family) -> bool:
        """Whether it may be one of this family's: of as many sides as its box has, with rings where it has a truth."""
        sides = {len(ring.fit.slopes) for ring in self.rings if ring.fit is not None}
        return bool(self.residuals) and sides <= {2 * family.parameters.size} and bool(self.rings) == family.has_exact

    def quantile(self, scaled: float) -> float:
        """The share of the trained space whose residual is smaller."""
        return float(np.mean(~(np.asarray(self.residuals) >= scaled)))  # one that is not a number is larger than all

    def estimate(self, scaled: float, beyond: Sides) -> Estimate:
        """The error that a residual means at a μ beyond the sides of the box by these widths."""
        if not self.rings:
            return Estimate("the family has no exact solution to calibrate with")
        ring = ring_at(self.rings, float(np.max(beyond)))
        if ring is None:
            return Estimate(
                f"μ is not within {self.rings[-1].outer:g} box width of the box; nothing is calibrated there"
            )
        if ring.fit is None:
            few = f"{ring.count} of the parameters drawn {ring.describe()} have a finite error"
            return Estimate(f"{few}, too few to calibrate with", ring)
        fitted = ring.fit.logarithm(beyond)
        if fitted is None:
            return Estimate("too few parameters beyond the same side of the box have a finite error", ring)
        if not np.isfinite(scaled):
            return Estimate("the residual is not finite", ring)
        error, low, high = (float(scaled * np.exp(fitted + off)) for off in (0.0, ring.fit.low, ring.fit.high))
        basis = f"{100 * LEVEL:.0f} % interval, calibrated on {ring.count} parameters {ring.describe()}"
        return Estimate(basis, ring, error, (low, high))


@dataclass(frozen=True)
class Trust:
    """What speaks for and against a solution at one μ."""

    mu: Mapping[str, float]
    inside: bool
    beyond: Mapping[str, float]
    """How far outside each parameter lies, in widths of its box (of its logarithm where that is uniform)."""
    residual: float
    """ρ: 0 is exact, 1 is as wrong as predicting nothing."""
    quantile: float
    """The share of the trained space whose residual is smaller."""
    median_residual: float
    envelopes: tuple[float, ...]
    """M(l; μ) = max(‖diag γ⁽ˡ⁾(μ) W⁽ˡ⁾‖₂, 1) from the lift to the readout (paper, Lemma on derivatives)."""
    error: float | None
    """The estimated relative L2 error at μ; None where none is claimed."""
    error_interval: tuple[float, float] | None
    """The 95 % interval around it: it holds the true errors of that share of the μ of its ring."""
    error_basis: str
    """What error and interval were calibrated on; without an error, why none is claimed."""
    ring: tuple[float, float] | None
    """The distances from the box, in widths, between which μ and the parameters of its calibration lie; (0, 0) is the
    box itself, None is further outside than anything calibrated."""

    def describe(self) -> list[str]:
        """For a reader."""
        outside = ", ".join(f"{name} by {far:.2f} box widths" for name, far in self.beyond.items() if far > 0)
        error = f"unknown: {self.error_basis}"
        if self.error is not None and self.error_interval is not None:
            low, high = self.error_interval
            error = f"{self.error:.2e} ({low:.1e} to {high:.1e}: {self.error_basis})"
        return [
            f"μ lies {'inside' if self.inside else 'outside'} the trained space{': ' + outside if outside else ''}",
            f"scaled residual   {self.residual:.2e}, larger than at {100 * self.quantile:.0f} % of the trained space "
            f"(median {self.median_residual:.2e})",
            f"estimated error   {error}",
            f"layer envelopes   {', '.join(f'{envelope:.3g}' for envelope in self.envelopes)}",
        ]


def judge(model: Model, family: Family, mu: Parameter, calibration: Calibration) -> Trust:
    """What is known about a solution at μ, under a calibration of it."""
    space = family.parameters
    scaled = float(scaled_residuals(model, family, mu[None])[0])
    if not np.isfinite(scaled):
        where = ", ".join(f"{name} = {value:.4g}" for name, value in zip(space.names, mu.tolist(), strict=True))
        raise FailedRun(f"the residual is not finite at {where}; the equation or the network has no value there")
    sides_of_mu = np.asarray(sides(space, mu), np.float64)
    estimate = calibration.estimate(scaled, sides_of_mu)
    far = sides_of_mu[: space.size] + sides_of_mu[space.size :]
    return Trust(
        mu=dict(zip(space.names, (float(value) for value in mu), strict=True)),
        inside=bool(np.all(far == 0.0)),
        beyond=dict(zip(space.names, far.tolist(), strict=True)),
        residual=scaled,
        quantile=calibration.quantile(scaled),
        median_residual=float(np.median(calibration.residuals)),
        envelopes=tuple(float(envelope) for envelope in envelopes(model, mu)),
        error=estimate.error,
        error_interval=estimate.interval,
        error_basis=estimate.basis,
        ring=None if estimate.ring is None else (estimate.ring.inner, estimate.ring.outer),
    )


def calibrate(model: Model, family: Family, parameters: int | None = None) -> Calibration:
    """From held-out μ, so many in the box and in each ring."""
    space, key = family.parameters, stream(0, Purpose.TRUST)
    count = parameters or affordable_parameters(family)
    inside = jax.vmap(space.sample)(items(child(key, Purpose.PARAMETERS), count))
    if not family.has_exact:
        return Calibration(tuple(scaled_residuals(model, family, inside).tolist()), ())
    around = child(key, Purpose.QUERIES)
    drawn = [held_out_around(family, *BOUNDS[ring], count, item(around, ring)) for ring in range(1, len(BOUNDS))]
    held_out = jnp.concatenate([inside, *drawn])
    scaled = scaled_residuals(model, family, held_out)
    errors = _errors(model, family, held_out, child(key, Purpose.EVALUATION))
    beyond = np.asarray(jax.vmap(lambda mu: sides(space, mu))(held_out), np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(errors / scaled)
    ends = np.cumsum([count, *(len(some) for some in drawn)])[:-1]
    found = zip(BOUNDS, np.split(beyond, ends), np.split(logs, ends), strict=True)
    return Calibration(tuple(scaled[:count].tolist()), tuple(Ring.of(*ring) for ring in found))


def affordable_parameters(family: Family) -> int:
    """How many μ of the box, and of each ring, a calibration takes."""
    return int(np.clip(WORK / (family.domain.coordinates * len(BOUNDS) * FEW_POINTS), FEWEST_PARAMETERS, PARAMETERS))


def held_out_around(family: Family, inner: float, outer: float, count: int, key: Key) -> Float[Array, "params p"]:
    """At most so many μ of a ring, all such that the family has a finite solution there."""
    candidates, exist = _candidates(family, jnp.asarray([inner, outer]), key, CANDIDATES * count)
    return candidates[exist][:count]


@eqx.filter_jit
def _candidates(family: Family, bounds: Float[Array, "2"], key: Key, count: int) -> tuple[Array, Array]:
    """μ of a ring, and at which of them the exact solution is finite at some random points."""
    space, point_keys = family.parameters, items(child(key, Purpose.POINTS), TRIED_POINTS)
    draw = lambda one: sample_outside(space, bounds[0], bounds[1], one)
    drawn = jax.vmap(draw)(items(child(key, Purpose.PARAMETERS), count))

    def exists(mu: Parameter) -> Array:
        finite = lambda one: jnp.isfinite(family.exact(family.domain.sample(one), space.named(mu)))
        return jnp.all(jax.lax.map(finite, point_keys))

    return drawn, map_chunks(exists, drawn, family.domain.coordinates)


def _errors(model: Model, family: Family, parameters: Float[Array, "params p"], key: Key) -> np.ndarray:
    """The relative L2 error at each μ, on as many points as the work of their exact solutions allows. Each chunk has
    points of its own: what their choice changes is then a part of the spread, not one shift of all."""
    points = int(min(ERROR_POINTS, max(1.0, WORK / (family.domain.coordinates * len(parameters)))))
    at = lambda chunk, number: errors_at(model, family, chunk, item(key, number), points)
    return _in_chunks(at, parameters, CHUNK)


def _in_chunks(
    function: Callable[[Array, int], Array | np.ndarray], parameters: Float[Array, "params p"], size: int
) -> np.ndarray:
    """The function of all μ, so many at a time, and of the number of the chunk; the last one is filled up, so that one
    program serves all of them, and a single query."""
    found = []
    for number, first in enumerate(range(0, len(parameters), size)):
        chunk = parameters[first : first + size]
        filled = jnp.concatenate([chunk, jnp.tile(chunk[:1], (size - len(chunk), 1))])
        found.append(np.asarray(function(filled, number), np.float64)[: len(chunk)])
    return np.concatenate(found)


def scaled_residuals(model: Model, family: Family, parameters: Float[Array, "params p"]) -> np.ndarray:
    """ρ at each of some μ, all on the same points.

    The loop over chunks is on the host, not in the program: in a compiled loop, the fused products of float32 matrices
    of XLA on the CPU (JAX 0.10.2) gave wrong residuals for families in time, and none with
    `XLA_FLAGS=--xla_cpu_experimental_ynn_fusion_type=`.
    """
    key = stream(0, Purpose.TRUST)
    size = max(1, min(CHUNK, CHUNK_NUMBERS // (POINTS * family.domain.coordinates)))
    return _in_chunks(lambda chunk, _: _scaled_residuals(model, family, chunk, key), parameters, size)


@eqx.filter_jit
def _scaled_residuals(model: Model, family: Family, parameters: Array, key: Key) -> Float[Array, "params"]:
    estimator, sampling = judging_estimator(model, family), Sampling(POINTS, 1, crossed=True)
    key = child(key, Purpose.CHECK)
    batch = draw_batch(family, estimator, sampling, span_width(model, family), False, key)
    constant_batch = for_constants(batch, family, estimator, child(key, Purpose.SECOND_DIRECTIONS))

    def scaled(mu: Parameter) -> Array:
        at = lambda drawn: eqx.tree_at(lambda b: b.parameters, drawn, mu[None])
        r = batch_residuals(model, family, at(batch))
        return jnp.sqrt(jnp.mean(r**2)) / residual_scale(family, at(constant_batch))

    return jax.vmap(scaled)(parameters)


@eqx.filter_jit
def envelopes(model: Model, mu: Parameter) -> Float[Array, "layers"]:
    """M(l; μ) of the lift, the manifold's matrices and the readout. The Lemma knows dense channels of the lift alone:
    no affine part, no sites, no norm."""
    lift, modulations = model.lift, model.modulation(mu)[: model.depth]
    dense = jnp.pad(
        lift.weight[:, : lift.linear - lift.affine], ((0, 0), (0, lift.bent_width - lift.linear + lift.affine))
    )
    matrices = [dense.T, *model.manifold.weights]
    active = [
        matrix if modulation.gamma is None else modulation.gamma[:, None] * matrix
        for matrix, modulation in zip(matrices, modulations, strict=True)
    ]
    norms = [
        jnp.sqrt(jnp.linalg.eigvalsh(matrix @ matrix.T)[-1]) if matrix.size else jnp.zeros(()) for matrix in active
    ]
    return jnp.maximum(jnp.stack([*norms, jnp.linalg.norm(model.amplitude * model.manifold.readout)]), 1.0)
