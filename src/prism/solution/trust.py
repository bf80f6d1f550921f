"""How far to trust a solution at a queried μ: from its residual there, which needs no exact solution.

    ρ(μ) = rms r(x; μ) / rms r₀(x; μ),      r₀ the residual of u = 0;       error ≈ c·ρ(μ)

c is the geometric mean of error / ρ over held-out μ of the trained space, where the family knows its exact solution;
elsewhere ρ is compared with its distribution over that space, and no error is claimed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prism.networks.model import Model
from prism.numerics.keys import Purpose, child, items, stream
from prism.objective.batches import Sampling, draw_batch
from prism.objective.estimation import judging_estimator
from prism.objective.residuals import batch_residuals, span_width
from prism.objective.units import for_constants, residual_scale
from prism.problem.family import Family
from prism.shapes import Key, Parameter
from prism.solution.evaluation import errors_at

POINTS, PARAMETERS, ERROR_POINTS = 64, 64, 500
"""Points of a residual's root mean square, held-out parameters of a calibration, points of an error there."""
COVERED = 2.0
"""Standard deviations of log(error / ρ) that the interval of an estimated error spans on each side."""


@dataclass(frozen=True)
class Calibration:
    """What is known of a solution over its trained space: its residuals, and error / residual where that is known."""

    residuals: tuple[float, ...]
    ratio: float | None
    spread: float | None
    """Standard deviation of log(error / residual) over the held-out μ."""

    def quantile(self, scaled: float) -> float:
        """The share of the trained space whose residual is smaller."""
        return float(np.mean(np.asarray(self.residuals) < scaled))

    def error(self, scaled: float) -> tuple[float, float, float] | None:
        """The estimated relative L2 error, and the interval around it."""
        if self.ratio is None or self.spread is None:
            return None
        factor = float(np.exp(COVERED * self.spread))
        return self.ratio * scaled, self.ratio * scaled / factor, self.ratio * scaled * factor


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
    """The estimated relative L2 error at μ; None where the family has no exact solution to calibrate with."""
    error_interval: tuple[float, float] | None
    """The interval around it, from how far log(error / ρ) spreads over the parameters of the calibration."""

    def describe(self) -> list[str]:
        """For a reader."""
        outside = ", ".join(f"{name} by {far:.2f} box widths" for name, far in self.beyond.items() if far > 0)
        error = "unknown: the family has no exact solution to calibrate with"
        if self.error is not None and self.error_interval is not None:
            low, high = self.error_interval
            error = f"{self.error:.2e} ({low:.1e} to {high:.1e})"
            error += "" if self.inside else ", calibrated inside the box alone"
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
    estimate = calibration.error(scaled)
    beyond = dict(zip(space.names, (float(far) for far in _beyond(family, mu)), strict=True))
    return Trust(
        mu=dict(zip(space.names, (float(value) for value in mu), strict=True)),
        inside=not any(far > 0 for far in beyond.values()),
        beyond=beyond,
        residual=scaled,
        quantile=calibration.quantile(scaled),
        median_residual=float(np.median(calibration.residuals)),
        envelopes=tuple(float(envelope) for envelope in envelopes(model, mu)),
        error=None if estimate is None else estimate[0],
        error_interval=None if estimate is None else estimate[1:],
    )


def calibrate(model: Model, family: Family, parameters: int = PARAMETERS) -> Calibration:
    """From held-out μ of the trained space."""
    key = stream(0, Purpose.TRUST)
    held_out = jax.vmap(family.parameters.sample)(items(child(key, Purpose.PARAMETERS), parameters))
    scaled = scaled_residuals(model, family, held_out)
    if not family.has_exact:
        return Calibration(tuple(scaled.tolist()), None, None)
    errors = errors_at(model, family, held_out, child(key, Purpose.EVALUATION), ERROR_POINTS)
    ratios = np.log(errors / scaled)
    return Calibration(tuple(scaled.tolist()), float(np.exp(ratios.mean())), float(ratios.std(ddof=1)))


def scaled_residuals(model: Model, family: Family, parameters: Float[Array, "params p"]) -> np.ndarray:
    """ρ at each of some μ, all on the same points."""
    return np.asarray(_scaled_residuals(model, family, parameters, stream(0, Purpose.TRUST)), np.float64)


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

    return jax.lax.map(scaled, parameters)


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


def _beyond(family: Family, mu: Parameter) -> Parameter:
    """Distance to the box in its own widths, in the coordinate in which its law is uniform."""
    low, high = family.parameters.uniform_box()
    t = family.parameters.uniform_coordinate(mu)
    return jnp.maximum(jnp.maximum(low - t, t - high), 0.0) / (high - low)
