"""A chain of anharmonic oscillators, whose levels no formula tells.

−Δ + Σ (x_i² + μ₁ x_i⁴) − μ₂ Σ x_i x_(i+1)
"""

from typing import ClassVar, Self

import equinox as eqx

from prism.errors import InputError
from prism.problem.parameters import ParameterSpace, Uniform
from prism.problem.potential import Index, Pair, Potential
from prism.references.matrix_product import ground_level
from prism.references.reference import Reference
from prism.shapes import Key, Named, Scalar

MOST_COUPLING = 0.9
"""|μ₂| up to which x² holds the chain in the middle of its intervals."""


class AnharmonicChain(Potential):
    """−Δ + Σ (x_i² + μ₁ x_i⁴) − μ₂ Σ x_i x_(i+1), a chain of anharmonic oscillators whose levels no formula tells."""

    dimension: int = eqx.field(static=True)
    parameters: ParameterSpace

    box: ClassVar[ParameterSpace] = Uniform(mu1=(0.1, 0.5), mu2=(0.2, 0.6))

    def __check_init__(self):
        if self.dimension < 1:
            raise InputError(f"a chain of {self.dimension} places: give 1 or more")
        bounds = self.parameters.bounds()
        if set(bounds) != {"mu1", "mu2"}:
            raise InputError(f"the parameters of the anharmonic chain are mu1 and mu2, not {', '.join(bounds)}")
        if not bounds["mu1"][0] > 0.0:
            raise InputError(
                "mu1 of the anharmonic chain is the strength of its quartic walls; give an interval above zero"
            )
        if max(map(abs, bounds["mu2"])) > MOST_COUPLING:
            raise InputError(
                f"mu2 reaches {max(map(abs, bounds['mu2'])):g}: near 1 and beyond the chain has two wells, for which "
                f"its intervals are not made; keep |mu2| <= {MOST_COUPLING}"
            )

    @classmethod
    def create(cls, dimension: int, key: Key | None = None, parameters: ParameterSpace | None = None) -> Self:
        """In so many dimensions; nothing of it is random."""
        return cls(dimension=dimension, parameters=parameters or cls.box)

    def single(self, y: Scalar, i: Index, mu: Named) -> Scalar:
        return y * y + mu.mu1 * y**4

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return (Pair(left=lambda y, i, mu: -mu.mu2 * y, right=lambda y, i, mu: y),)

    def half_width(self, i: Index) -> float:
        return 4.5

    def reference(self, mu: Named) -> Reference:
        """By matrix product states in a basis of each place."""
        return ground_level(self, mu)
