"""Optimisers: state in, state out. A step draws its own gradient from the objective and one batch."""

import abc
from typing import Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Int

from prism.numerics.compilation import CompilerOptions
from prism.objective.rows import Slopes
from prism.shapes import Scalar

MOST_JOINED = 2**16
"""Numbers in an array that is joined with others before it is summed: to copy it takes less than to start a kernel."""
State = TypeVar("State")


class StepInfo(eqx.Module):
    """What one step saw: the loss before it, and whether loss and gradient were finite."""

    loss: Scalar
    finite: Bool[Array, ""]


class Optimiser(eqx.Module, Generic[State]):
    """How a model is improved: `init` makes the state before the first step, `step` takes model, state and one batch
    of an objective and gives the improved model, the new state and what the step saw."""

    natural: ClassVar[bool] = False
    """Whether its steps cost N² times the number of weights, so that a small network and many points suit it."""
    compiler_options: ClassVar[CompilerOptions] = {}
    """How its steps are compiled."""
    rate: eqx.AbstractVar[float]

    @property
    def trains_followers(self) -> bool:
        """Whether it can train weights that are to follow the residual's slopes (`Part.follows_slopes`); an optimiser
        of first order moves them by the gradient of the loss, as all others."""
        return True

    @property
    def copies(self) -> int:
        """Numbers that are kept from step to step for a weight behind the lift, itself among them."""
        return 1

    @property
    def lift_copies(self) -> int:
        """The same for a weight of the lift's matrix."""
        return self.copies

    @property
    def follower_copies(self) -> int:
        """The same for a weight that follows the residual's slopes."""
        return self.copies

    def batch_of(self, step: Int[Array, ""]) -> Int[Array, ""]:
        """The number of the batch that a step sees: its own, unless it is to see an earlier one again."""
        return step

    def check(self, slopes: Slopes | None) -> None:
        """Raise an InputError that names an option of the loss that this optimiser cannot use."""

    @abc.abstractmethod
    def init(self, model: Any) -> State:
        """The state before the first step."""

    @abc.abstractmethod
    def step(self, objective: Any, model: Any, state: State, batch: Any, decay: Scalar) -> tuple[Any, State, StepInfo]:
        """One step; `decay` in [0, 1] multiplies the rate."""


class Adam(Optimiser[Any]):
    """Adam (Kingma and Ba 2014), as in the paper, section 5.1: rate 1e-3, decayed linearly to zero."""

    rate: float = eqx.field(static=True, default=1e-3)

    @property
    def copies(self) -> int:
        return 3  # two moments

    def init(self, model: Any) -> Any:
        return optax.scale_by_adam().init(eqx.filter(model, eqx.is_array))

    def step(self, objective: Any, model: Any, state: Any, batch: Any, decay: Scalar) -> tuple[Any, Any, StepInfo]:
        loss, gradient = eqx.filter_value_and_grad(lambda m: objective.loss(m, batch))(model)
        direction, state = optax.scale_by_adam().update(gradient, state)
        updates = jax.tree.map(lambda u: -self.rate * decay * u, direction)
        finite = jnp.isfinite(loss) & jnp.isfinite(_squared_length(gradient))
        return eqx.apply_updates(model, updates), state, StepInfo(loss, finite)


def _squared_length(gradient: Any) -> Scalar:
    """Σ g². Small arrays are joined first: with a sum for each, the guard of a step cost 4 % of it instead of 1.5 %."""
    leaves = jax.tree.leaves(gradient)
    small = [leaf.reshape(-1) for leaf in leaves if leaf.size <= MOST_JOINED]
    large = [leaf for leaf in leaves if leaf.size > MOST_JOINED]
    joined = [jnp.concatenate(small), *large] if small else large
    return sum((jnp.vdot(g, g) for g in joined), start=jnp.zeros(()))
