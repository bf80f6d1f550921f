"""How the noise of a stochastic estimator grows with the parameter, for each modulation and four equations.

    V_r(μ) = E (r − E r)²,     V_g(μ) = E |g − E g|²,     over draws of 16 coordinates at the same points,

r the residual and g the gradient of the loss at μ, of a network trained for a while. μ goes along the diagonal of the
box and as far again beyond it; growth is against the middle of the box, in powers of ten (paper, section 5.3).
|E g|², which tells how much of V_g comes from a larger residual alone, is measured beside them.
"""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prism.derivatives.estimators import Coordinates
from prism.families import AllenCahn, Poisson, ReactionDiffusion, SineGordon
from prism.networks.lifts.parts import Dense
from prism.networks.model import Architecture
from prism.networks.modulation import MODULATIONS
from prism.numerics.keys import Purpose, items, stream
from prism.objective.batches import Batch
from prism.shapes import Key, Keys
from prism.solving.preparation import first_state
from prism.solving.settings import Settings
from prism.studies.figures import REFERENCE, SHADE, legend_below, log_ticks, offsets, panels, styles
from prism.studies.trials import SEEDS, Measurement, Measurements, Study, TableRow, Tell, averaged
from prism.training.advance import TrainingState
from prism.training.optimisers import Adam
from prism.training.program import Program

DIMENSION, DRAWS = 100, 32
STEPS, FULL_STEPS = 300, 5_000
SECONDS_PER_STEP, SECONDS_BESIDE = 0.006, 17.5
"""Of a step, and of compilation and the draws at every position, as measured on two cores."""
POSITIONS, MIDDLE, CORNER, OUTSIDE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0), 0.5, 1.0, 2.0
"""Along the diagonal: 0 and 1 are corners of the box, 2 is one width outside."""
EQUATIONS = {
    "poisson": Poisson,
    "allen-cahn": AllenCahn,
    "sine-gordon": SineGordon,
    "reaction-diffusion": ReactionDiffusion,
}
COMPARED = [name for name in MODULATIONS if name != "none"]
MEASURES = ("residual variance", "gradient variance", "squared mean gradient")


def plan(full: bool) -> list[float]:
    whole = SECONDS_BESIDE + SECONDS_PER_STEP * (FULL_STEPS if full else STEPS)
    return [whole] * (len(EQUATIONS) * len(COMPARED) * len(SEEDS))


def run(full: bool, tell: Tell) -> list[Measurement]:
    """One measurement for each equation, modulation, seed and position."""
    measurements: list[Measurement] = []
    steps = FULL_STEPS if full else STEPS
    for equation in EQUATIONS:
        for modulation in COMPARED:
            for seed in SEEDS:
                tell(f"{equation}, {modulation}, seed {seed}")
                state, settings = _begin(equation, modulation, seed)
                program = Program.trace(state, settings.optimiser)
                state, _ = program(state, steps, float(steps))
                labels = {"equation": equation, "modulation": modulation, "d": DIMENSION, "steps": steps, "seed": seed}
                measurements += [{**labels, **one} for one in along(state)]
    return measurements


def _begin(equation: str, modulation: str, seed: int):
    family = EQUATIONS[equation].create(DIMENSION, stream(seed, Purpose.PROBLEM))
    architecture = Architecture(Dense(128), modulation=MODULATIONS[modulation])
    adam = {"estimator": Coordinates(16), "optimiser": Adam()}
    settings = Settings.choose(family, **adam, architecture=architecture, seed=seed)
    return first_state(family, settings), settings


def along(state: TrainingState) -> list[Measurement]:
    """Every measure at every position, in powers of ten of the one in the middle of the box."""
    space = state.objective.family.parameters
    low, high = space.uniform_box()
    batch = state.objective.draw(state.model, stream(0, Purpose.CHECK))
    keys = items(stream(1, Purpose.CHECK), DRAWS)

    def measured(position: float) -> Float[np.ndarray, "measures"]:
        mu = space.from_uniform_coordinate(low + position * (high - low))
        here = eqx.tree_at(lambda b: b.parameters, batch, jnp.broadcast_to(mu, batch.parameters.shape))
        return np.log10(_noise(state, here, keys))

    middle = measured(MIDDLE)
    growths = {position: measured(position) - middle for position in POSITIONS}
    return [{"position": at, **dict(zip(MEASURES, map(float, growth), strict=True))} for at, growth in growths.items()]


@eqx.filter_jit
def _noise(state: TrainingState, batch: Batch, keys: Keys) -> Float[Array, "measures"]:
    """V_r, V_g and |E g|²."""
    objective = state.objective

    def one(key: Key) -> tuple[Array, Array]:
        drawn = objective.redraw(state.model, batch, key)
        gradient = eqx.filter_grad(lambda model: objective.loss(model, drawn))(state.model)
        return objective.equations(state.model, drawn, drawn.draws), ravel_pytree(gradient)[0]

    residuals, gradients = jax.lax.map(one, keys)
    mean = jnp.mean(gradients, axis=0)
    spread = jnp.mean(jnp.sum((gradients - mean[None]) ** 2, axis=1))
    return jnp.stack([jnp.mean(jnp.var(residuals, axis=0)), spread, jnp.sum(mean**2)])


def summary(measurements: Measurements) -> list[TableRow]:
    """For each equation and modulation the growth from the middle to the upper corner and outside, over seeds."""
    ends, table = {CORNER: "at the corner", OUTSIDE: "outside"}, {}
    for row in averaged(measurements, ["equation", "modulation", "position"], MEASURES):
        if (name := ends.get(row["position"])) is not None:
            labels = {key: row[key] for key in ("equation", "modulation")}
            cells = {f"{measure} {name}": f"{row[measure]:+.2f} ± {row[f'± {measure}']:.2f}" for measure in MEASURES}
            table.setdefault(tuple(labels.values()), labels).update(cells)
    return list(table.values())


def finding(measurements: Measurements) -> str:
    outside = [one for one in measurements if one["position"] == OUTSIDE]
    rows, parts = averaged(outside, ["equation", "modulation"], MEASURES), []
    for equation in dict.fromkeys(row["equation"] for row in rows):
        cells = [
            f"{row['modulation']} {row['gradient variance']:+.1f} ({row['residual variance']:+.1f})"
            for row in rows
            if row["equation"] == equation
        ]
        parts.append(f"{equation}: {', '.join(cells)}")
    return (
        "Growth of the gradient's variance (and of the residual's) from the middle of the box to one width outside it, "
        f"in powers of ten. {'; '.join(parts)}."
    )


def figure(measurements: Measurements) -> Figure:
    """Growth of both variances along the diagonal, a column for each equation, all on one scale; the box is shaded."""
    rows = averaged(measurements, ["equation", "modulation", "position"], MEASURES)
    equations = list(dict.fromkeys(row["equation"] for row in rows))
    looks = styles(row["modulation"] for row in rows)
    drawn, grid = panels(2, len(equations), (1.2 + 3.1 * len(equations), 7.2), sharex=True, sharey=True)
    for axes, measure in zip(grid, MEASURES, strict=False):
        for panel, equation in zip(axes, equations, strict=True):
            for name, offset in zip(looks, offsets(len(looks), 0.03), strict=True):
                here = [row for row in rows if (row["equation"], row["modulation"]) == (equation, name)]
                _plot_growth(panel, here, measure, offset, name, looks[name])
            panel.axvspan(0.0, 1.0, color=SHADE, zorder=0)
            panel.axhline(1.0, color=REFERENCE, lw=0.8)
        axes[0].set_ylabel(f"{measure}\n(1: in the middle of the box)")
    for panel, equation in zip(grid[0], equations, strict=True):
        panel.set(title=equation, yscale="log")
    log_ticks(grid[0, 0].yaxis)
    for panel in grid[-1]:
        panel.set_xlabel("position of μ on the diagonal")
    first = measurements[0]
    drawn.suptitle(
        f"Noise of 16 random coordinates of {first['d']:,} after {first['steps']:,} steps, mean ± deviation over "
        f"{rows[0]['seeds']} seeds; shaded: the trained box"
    )
    legend_below(drawn, grid[0, 0])
    return drawn


def _plot_growth(axes: Axes, rows: Measurements, measure: str, offset: float, name: str, look: Mapping) -> None:
    """The factor of growth over the position, with its deviation over seeds, which is one of powers of ten."""
    powers, deviations = (np.asarray([row[column] for row in rows]) for column in (measure, f"± {measure}"))
    growth = 10.0**powers
    bars = np.stack([growth - 10.0 ** (powers - deviations), 10.0 ** (powers + deviations) - growth])
    positions = [row["position"] + offset for row in rows]
    axes.errorbar(positions, growth, yerr=bars, ls="-", lw=1.2, ms=4, capsize=2, label=name, **look)


STUDY = Study(run, plan, figure, summary, finding)
