"""How the noise of a stochastic estimator grows with the parameter, for each modulation and four equations.

    V_r(μ) = E (r − E r)²,     V_g(μ) = E |g − E g|²,     over draws of 16 coordinates at the same points,

r the residual and g the gradient of the loss at μ, of a network trained for a while. μ goes along the diagonal of the
box and as far again beyond it; growth is against the middle of the box, in powers of ten (paper, section 5.3).
|E g|², which tells how much of V_g comes from a larger residual alone, is measured beside them.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates
from prism.families import AllenCahn, Poisson, ReactionDiffusion, SineGordon
from prism.networks.model import Architecture
from prism.numerics.keys import CHECK, PROBLEM, stream
from prism.objective.objective import Batch
from prism.shapes import Key, Keys
from prism.solving.runs import first_state
from prism.solving.settings import Settings
from prism.studies.trials import MODULATIONS, SEEDS, Row, Study, Tell, averaged
from prism.training.advance import TrainingState
from prism.training.optimisers import Adam
from prism.training.program import Program

DIMENSION, DRAWS = 100, 32
STEPS, FULL_STEPS = 300, 5_000
PLACES, MIDDLE, EDGE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0), 0.5, 1.0
"""Along the diagonal: 0 and 1 are corners of the box."""
EQUATIONS = {
    "poisson": Poisson,
    "allen-cahn": AllenCahn,
    "sine-gordon": SineGordon,
    "reaction-diffusion": ReactionDiffusion,
}
COMPARED = [name for name in MODULATIONS if name != "none"]
MEASURES = ("residual", "gradient", "mean gradient²")


def run(full: bool, tell: Tell) -> list[Row]:
    """One row for each equation, modulation, seed and place."""
    rows: list[Row] = []
    for equation in EQUATIONS:
        for modulation in COMPARED:
            tell(f"{equation}, {modulation}")
            program = None
            for seed in SEEDS:
                state, settings = _begin(equation, modulation, seed)
                program = program or Program.compile(state, settings.optimiser)
                steps = FULL_STEPS if full else STEPS
                state, _ = program(state, steps, float(steps))
                rows += [{"equation": equation, "modulation": modulation, "seed": seed} | row for row in along(state)]
    return rows


def _begin(equation: str, modulation: str, seed: int):
    family = EQUATIONS[equation].create(DIMENSION, stream(seed, PROBLEM))
    architecture = Architecture(modulation=MODULATIONS[modulation], affine=0)
    settings = Settings(Coordinates(16), Adam(), architecture, seed=seed).completed(family)
    return first_state(family, settings), settings


def along(state: TrainingState) -> list[Row]:
    """Every measure at every place, in powers of ten of the one in the middle of the box."""
    space = state.objective.family.parameters
    low, high = space.uniform_box()
    batch, keys = state.objective.draw(stream(0, CHECK)), jax.random.split(stream(1, CHECK), DRAWS)

    def measured(place: float) -> Float[np.ndarray, "measures"]:
        mu = space.from_uniform_coordinate(low + place * (high - low))
        here = Batch(batch.points, jnp.broadcast_to(mu, batch.parameters.shape), batch.key)
        return np.log10(_noise(state, here, keys))

    middle = measured(MIDDLE)
    growths = {place: measured(place) - middle for place in PLACES}
    return [{"place": place, **dict(zip(MEASURES, map(float, g), strict=True))} for place, g in growths.items()]


@eqx.filter_jit
def _noise(state: TrainingState, batch: Batch, keys: Keys) -> Float[Array, "measures"]:
    """V_r, V_g and |E g|²."""
    objective = state.objective

    def one(key: Key) -> tuple[Array, Array]:
        drawn = eqx.tree_at(lambda b: b.key, batch, key)
        gradient = eqx.filter_grad(lambda model: objective.loss(model, drawn))(state.model)
        return objective.residuals(state.model, drawn, key), ravel_pytree(gradient)[0]

    residuals, gradients = jax.lax.map(one, keys)
    mean = jnp.mean(gradients, axis=0)
    spread = jnp.mean(jnp.sum((gradients - mean[None]) ** 2, axis=1))
    return jnp.stack([jnp.mean(jnp.var(residuals, axis=0)), spread, jnp.sum(mean**2)])


def summary(rows: Sequence[Row]) -> list[Row]:
    """For each equation and modulation the growth from the middle to the upper corner and beyond it, over seeds."""
    ends, table = {EDGE: "at the corner", PLACES[-1]: "beyond"}, {}
    for line in averaged(rows, ["equation", "modulation", "place"], MEASURES):
        if (name := ends.get(line["place"])) is not None:
            labels = {key: line[key] for key in ("equation", "modulation")}
            told = {f"{m} {name}": f"{line[m]:+.2f} ± {line[f'± {m}']:.2f}" for m in MEASURES}
            table.setdefault(tuple(labels.values()), labels).update(told)
    return list(table.values())


def finding(rows: Sequence[Row]) -> str:
    lines = averaged([row for row in rows if row["place"] == PLACES[-1]], ["equation", "modulation"], MEASURES)
    parts = []
    for equation in EQUATIONS:
        here = [line for line in lines if line["equation"] == equation]
        told = [f"{line['modulation']} {line['gradient']:+.1f} ({line['residual']:+.1f})" for line in here]
        parts.append(f"{equation}: {', '.join(told)}")
    return (
        "Growth of the gradient's variance (and of the residual's) from the middle of the box to one width beyond it, "
        f"in powers of ten. {'; '.join(parts)}."
    )


def figure(rows: Sequence[Row]) -> Figure:
    """Growth along the diagonal for each equation and modulation; the box is shaded."""
    drawn = Figure(figsize=(12.0, 6.0), layout="constrained")
    lines = averaged(rows, ["equation", "modulation", "place"], MEASURES)
    grid = drawn.subplots(2, len(EQUATIONS), squeeze=False, sharex=True, sharey="row")
    for axes, measure in zip(grid, MEASURES, strict=False):
        for axis, equation in zip(axes, EQUATIONS, strict=True):
            for name in COMPARED:
                here = [line for line in lines if (line["equation"], line["modulation"]) == (equation, name)]
                places, growths, deviations = ([line[c] for line in here] for c in ("place", measure, f"± {measure}"))
                axis.errorbar(places, growths, yerr=deviations, fmt="o-", markersize=4, capsize=3, label=name)
            axis.axvspan(0.0, 1.0, color="0.93", zorder=-1)
            axis.axhline(0.0, color="0.6", linewidth=0.8)
        axes[0].set_ylabel(f"variance of the {measure},\npowers of ten of the middle's")
    for axis, equation in zip(grid[0], EQUATIONS, strict=True):
        axis.set_title(equation)
    for axis in grid[-1]:
        axis.set_xlabel("place along the diagonal")
    grid[0, 0].legend(fontsize=8)
    return drawn


STUDY = Study(run, figure, summary, finding)
