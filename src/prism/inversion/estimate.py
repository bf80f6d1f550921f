"""What was inferred from one data set, for people, for scripts and for a figure."""

from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float

from prism.errors import FailedRun

Interval = tuple[float, float]


@dataclass(frozen=True)
class Minimum:
    """Parameters that fit, and by how much χ² is larger there than at the best."""

    values: dict[str, float]
    excess: float


@dataclass(frozen=True)
class Curve:
    """The likelihood ratio Λ over one parameter, the others re-fitted."""

    positions: tuple[float, ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class ParameterEstimate:
    """One physical parameter: its best fit, what the data say of it, and how that was found."""

    value: float
    interval: Interval
    identifiable: bool
    at_edge: bool
    gauss_newton: Interval
    profile: Interval
    method: str
    bounds: Interval
    curve: Curve

    @property
    def open_ended(self) -> bool:
        """Whether the interval ends at the edge of the trained space, not because of the data."""
        return self.interval[0] <= self.bounds[0] or self.interval[1] >= self.bounds[1]


@dataclass(frozen=True)
class Estimate:
    """μ from one data set, with 95 % intervals; what the data do not determine is said, not guessed."""

    parameters: dict[str, ParameterEstimate]
    """By name; `values`, `interval` and `identifiable` give one thing of all of them."""
    covariance: Float[np.ndarray, "p p"] | None
    """Of μ at the best fit; None where the data leave a direction open."""
    observations: int
    noise: float
    """Standard deviation of the observations, as given or estimated from what the fit leaves."""
    noise_given: bool
    model_deviation: float
    """Standard deviation that the solution's own error adds to the noise."""
    reduced_chi_square: float
    p_value: float | None
    """How likely a χ² as large would be, where the noise is given."""
    threshold: float
    """Likelihood ratio Λ at the ends of a 95 % interval."""
    open_directions: tuple[str, ...]
    """Combinations of parameters that the data do not determine, such as `mu1 − 0.98 mu2`."""
    minima: tuple[Minimum, ...]
    """Parameters apart from each other that fit about equally well, the best first."""
    warnings: tuple[str, ...]

    @property
    def values(self) -> dict[str, float]:
        """The best fit of each parameter, also of those that `identifiable` denies."""
        return {name: parameter.value for name, parameter in self.parameters.items()}

    @property
    def interval(self) -> dict[str, Interval]:
        """The 95 % interval of each parameter; the whole trained space where it is not identifiable."""
        return {name: parameter.interval for name, parameter in self.parameters.items()}

    @property
    def identifiable(self) -> dict[str, bool]:
        """Whether the data determine each parameter."""
        return {name: parameter.identifiable for name, parameter in self.parameters.items()}

    @property
    def at_edge(self) -> dict[str, bool]:
        """Whether the best fit of each parameter lies at an end of the trained space."""
        return {name: parameter.at_edge for name, parameter in self.parameters.items()}

    def check_finite(self) -> None:
        """Raise a FailedRun where a value or an end of an interval is not a number."""
        for name, parameter in self.parameters.items():
            if not np.all(np.isfinite([parameter.value, *parameter.interval])):
                low, high = parameter.interval
                raise FailedRun(
                    f"nothing was inferred: {name} is {parameter.value:g} in [{low:g}, {high:g}]; are data and noise "
                    "of the size of u?"
                )

    def summary(self) -> list[str]:
        """The estimate in lines for a reader: the data, one line per parameter, warnings."""
        known = "as given" if self.noise_given else "estimated"
        fit = f"reduced χ² {self.reduced_chi_square:.3g} (p = {self.p_value:.2g})" if self.p_value is not None else ""
        width = max(len(name) for name in self.parameters)
        return [
            f"{self.observations:,} observations, noise {self.noise:.3g} ({known}){', ' if fit else ''}{fit}",
            *(f"{name:<{width}}  {_described(parameter)}" for name, parameter in self.parameters.items()),
            *(f"warning: {warning}" for warning in self.warnings),
        ]

    def as_json(self) -> dict[str, object]:
        """Everything but the curves, under the names of the fields."""
        content = asdict(self)
        for parameter in content["parameters"].values():
            del parameter["curve"]
        content["covariance"] = None if self.covariance is None else self.covariance.tolist()
        return content


def _described(parameter: ParameterEstimate) -> str:
    low, high = parameter.interval
    if not parameter.identifiable:
        return f"not identifiable from these data: anything in [{low:.6g}, {high:.6g}]"
    text = f"{parameter.value:.6g}   95 % interval [{low:.6g}, {high:.6g}] ({parameter.method})"
    if parameter.at_edge:
        return f"{text}, at the edge of the trained space"
    return f"{text}, cut off by the edge of the trained space" if parameter.open_ended else text
