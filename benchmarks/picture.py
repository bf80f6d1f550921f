"""The picture of README: one network at four β, beside its error.

prism solve convection --dim 50 --minutes 6 --out runs/convection
python benchmarks/picture.py runs/convection
"""

import argparse
import io
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from prism.cli.loading import load_run
from prism.files.storage import write_file
from prism.solution.solution import Solution

OUT = Path(__file__).parent.parent / "docs" / "figures" / "family.png"
BETAS = (1.0, 5.0, 15.0, 30.0)
SIZE, REACH = 161, 3.0


def fields(solution: Solution, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Prediction and exact solution over x₁ and t, the other coordinates at zero."""
    x, t = jnp.meshgrid(jnp.linspace(-REACH, REACH, SIZE), jnp.linspace(0.0, 1.0, SIZE))
    points = (
        jnp.zeros((SIZE * SIZE, solution.family.domain.coordinates)).at[:, 0].set(x.ravel()).at[:, -1].set(t.ravel())
    )
    mu = solution.family.parameters.named(jnp.asarray([beta]))
    exact = jax.jit(jax.vmap(lambda point: solution.family.exact(point, mu)))(points)
    return tuple(np.asarray(values).reshape(SIZE, SIZE) for values in (solution(points, beta=beta), exact))


def picture(solution: Solution) -> Figure:
    drawn = Figure(figsize=(11.0, 4.6), layout="constrained")
    upper, lower = drawn.subplots(2, len(BETAS), sharex=True, sharey=True)
    pairs = [fields(solution, beta) for beta in BETAS]
    rows = (
        (upper, [predicted for predicted, _ in pairs], "viridis", "u(x₁, t; β)"),
        (lower, [predicted - exact for predicted, exact in pairs], "RdBu_r", "error"),
    )
    for axes, values, colours, label in rows:
        largest = max(float(np.abs(value).max()) for value in values)
        look = {"cmap": colours, "vmin": -largest, "vmax": largest, "aspect": "auto", "origin": "lower"}
        images = [
            axis.imshow(value, extent=(-REACH, REACH, 0.0, 1.0), **look)
            for axis, value in zip(axes, values, strict=True)
        ]
        drawn.colorbar(images[0], ax=axes, label=label)
        axes[0].set_ylabel("t")
    for axis, beta in zip(upper, BETAS, strict=True):
        axis.set_title(f"β = {beta:g}")
    for axis in lower:
        axis.set_xlabel("x₁")
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="directory of a finished run of convection")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    content = io.BytesIO()
    picture(load_run(options.run)).savefig(content, format="png", dpi=110)
    write_file(options.out, content.getvalue())


if __name__ == "__main__":
    main()
