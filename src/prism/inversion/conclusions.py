"""What a fit is worth: intervals of two kinds, what stays open, whether the data fit at all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import chdtrc

from prism.inversion.estimate import Curve, Estimate, Minimum, ParameterEstimate
from prism.inversion.fitting import Fits
from prism.inversion.identifiability import MOST, Direction, combinations, open_directions, separate_minima
from prism.inversion.profiles import Likelihood, Profile, profiles
from prism.inversion.surrogate import physical, physical_lengths
from prism.problem.parameters import ParameterSpace

DOUBTFUL = 0.01
"""A p-value below this is reported as a misfit."""
NOTICEABLE = 0.1
"""By which part of their half-width the two kinds of interval may differ and still count as one."""
STIFFENING = 1e-3
"""Information added along every side of the box, too little to matter beside any data: the matrix stays invertible."""
PROFILE, GAUSS_NEWTON, BOX = "profile likelihood", "Gauss-Newton", "the whole space"


@dataclass(frozen=True)
class Fitted:
    """Where the searches ended, and the likelihood of what they found. `noise` is None where it was not given."""

    space: ParameterSpace
    noise: float | None
    model_deviation: float
    fits: Fits
    likelihood: Likelihood

    @property
    def observations(self) -> int:
        """The number of values that were given."""
        return self.likelihood.misfit.observations

    @property
    def chi_square(self) -> float:
        """Σ (u − y)² / variance at the best fit."""
        return self.fits.best_data_cost(self.observations) / self.likelihood.variance

    @property
    def freedom(self) -> int:
        """Degrees of freedom: observations less parameters."""
        return self.observations - self.space.size

    def covariance(self) -> Float[np.ndarray, "p p"]:
        """(JᵀJ / variance)⁻¹ of s at the best fit, by Gauss and Newton."""
        sensitivities = self.fits.sensitivities[self.fits.best]
        information = sensitivities.T @ sensitivities / self.likelihood.variance
        return np.linalg.inv(information + STIFFENING * np.eye(self.space.size))


def conclude(fitted: Fitted) -> Estimate:
    """The estimate of one data set: both kinds of interval, open directions, separate minima, and warnings."""
    fits, likelihood, covariance = fitted.fits, fitted.likelihood, fitted.covariance()
    sensitivities = fits.sensitivities[fits.best, : fitted.observations]
    suspects = open_directions(sensitivities, likelihood, fitted.model_deviation)
    indices = [fits.best] if suspects else separate_minima(likelihood, fits)
    roots = likelihood.roots(fits.costs[indices])
    found = profiles(likelihood, fits.s[indices], roots, covariance)
    directions = [one for one in suspects if one.blind or not all(found[index].closed for index in one.indices)]
    parameters = _parameters(fitted, found, covariance, directions)
    places = physical(fitted.space, fits.s[indices]).tolist()
    minima = [
        Minimum(dict(zip(fitted.space.names, place, strict=True)), float(root**2))
        for place, root in zip(places, roots, strict=True)
    ]
    p_value = float(chdtrc(fitted.freedom, fitted.chi_square)) if fitted.noise and fitted.freedom > 0 else None
    estimated = max(likelihood.variance - fitted.model_deviation**2, 0.0) ** 0.5
    undetermined = combinations(directions, fitted.space)
    return Estimate(
        parameters=parameters,
        covariance=None if directions else _physical_covariance(fitted, covariance),
        observations=fitted.observations,
        noise=fitted.noise or estimated,
        noise_given=fitted.noise is not None,
        model_deviation=fitted.model_deviation,
        reduced_chi_square=fitted.chi_square / max(fitted.freedom, 1),
        p_value=p_value,
        threshold=likelihood.quantile**2,
        open_directions=tuple(undetermined),
        minima=tuple(minima),
        warnings=tuple(_warnings(parameters, undetermined, minima, p_value)),
    )


def _parameters(
    fitted: Fitted, found: Sequence[Profile], covariance: Float[np.ndarray, "p p"], directions: Sequence[Direction]
) -> dict[str, ParameterEstimate]:
    """Each parameter with both kinds of interval, and the one of them that is to be used."""
    s = fitted.fits.s[fitted.fits.best]
    half = fitted.likelihood.quantile * np.sqrt(np.diag(covariance))
    local = np.clip([s - half, s + half], 0.0, 1.0)
    ratio = np.transpose([(profile.low, profile.high) for profile in found])
    undetermined = [index for direction in directions for index in direction.indices]
    identifiable = (ratio[1] - ratio[0] < MOST) & ~np.isin(np.arange(s.size), undetermined)
    agree = np.abs(local - ratio).max(axis=0) <= NOTICEABLE * half
    curves = np.stack([profile.positions for profile in found], axis=1)
    mu = physical(fitted.space, np.concatenate([s[None], local, ratio, curves]))
    parameters = {}
    for index, (name, bounds) in enumerate(fitted.space.bounds().items()):
        value, *ends = mu[:5, index].tolist()
        gauss_newton, profile = (ends[0], ends[1]), (ends[2], ends[3])
        chosen = (GAUSS_NEWTON, gauss_newton) if agree[index] else (PROFILE, profile)
        method, interval = chosen if identifiable[index] else (BOX, bounds)
        parameters[name] = ParameterEstimate(
            value=value,
            interval=interval,
            identifiable=bool(identifiable[index]),
            at_edge=bool(s[index] in (0.0, 1.0)),
            gauss_newton=gauss_newton,
            profile=profile,
            method=method,
            bounds=bounds,
            curve=Curve(tuple(mu[5:, index].tolist()), tuple((found[index].roots ** 2).tolist())),
        )
    return parameters


def _physical_covariance(fitted: Fitted, covariance: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p p"]:
    """Of μ instead of s: D C D with D = ∂μ/∂s."""
    lengths = physical_lengths(fitted.space, fitted.fits.s[fitted.fits.best])
    return covariance * np.outer(lengths, lengths)


def _warnings(
    parameters: dict[str, ParameterEstimate],
    undetermined: Sequence[str],
    minima: Sequence[Minimum],
    p_value: float | None,
) -> Iterator[str]:
    for combination in undetermined:
        yield f"these data do not determine {combination}"
    for name, parameter in parameters.items():
        if not parameter.identifiable and not undetermined:
            yield f"these data allow {name} most of the trained space"
        if parameter.identifiable and parameter.at_edge:
            yield f"{name} is at the edge of the trained space: its true value may lie outside"
        if parameter.method == PROFILE and not parameter.at_edge and len(minima) == 1:
            yield f"the likelihood of {name} is not symmetric: its interval is the profile's, not Gauss-Newton's"
    if len(minima) > 1:
        places = "; ".join(", ".join(f"{k} = {v:.4g}" for k, v in minimum.values.items()) for minimum in minima)
        yield f"{len(minima)} separate minima fit about equally well ({places}); the intervals cover all of them"
    if p_value is not None and p_value < DOUBTFUL:
        yield f"the data do not fit the model within the noise (p = {p_value:.1g}): the intervals are too narrow"
