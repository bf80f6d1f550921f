"""The slopes' step of weights as many as coordinates, against least squares written out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import KEY, close, mostly_slow

from prism.derivatives.estimators import Gram
from prism.errors import InputError
from prism.families import SineGordon
from prism.networks.lifts.parts import Affine, Blocks, Dense, Norm, Quadratic
from prism.networks.model import Architecture, Model
from prism.objective.batches import Sampling
from prism.objective.rows import Objective
from prism.training.natural.linear_rows import LinearRows, linear_rows
from prism.training.natural.slope_steps import slope_steps
from prism.training.natural.spring import Spring

FAMILY = SineGordon.create(7, KEY, scaled=True)
DAMPING = 1e-4
FORMS = {
    "windows": Quadratic(3, 2),
    "around the end": Quadratic(2, 2, periodic=True),
    "pairs": Quadratic(2, 2, groups=((0, 3), (6, 1))),
    "squares alone": Quadratic(1, 1),
}


def network(lift) -> Model:
    return Model.create(Architecture(lift, 3, 2, 3, 1), FAMILY.domain, FAMILY.parameters, KEY)


def rows_of(model: Model) -> tuple[LinearRows, jax.Array]:
    """Of a batch of twelve points, and these."""
    objective = Objective(FAMILY, Gram(), jnp.ones(()), Sampling(12, 12))
    batch = objective.draw(model, KEY)
    return linear_rows(objective, model, batch), batch.pairs().points


@pytest.mark.parametrize("part", mostly_slow(FORMS, "pairs"))
def test_every_entry_of_a_form_solves_its_own_least_squares(part):
    """Each entry alone against all slopes: as it enters them through p, by automatic differentiation."""
    model = network(Dense(2) + Norm() + part)
    rows, points = rows_of(model)
    group, p = model.lift.groups[-1], rows.by_lifted.value[:, -part.channels :]
    (squares, products), left = group.slope_step(points, p, rows.slopes, 1e-9)

    def moved(change):
        forms = eqx.tree_at(lambda g: (g.squares, g.products), group, change)
        return jax.vmap(lambda x, by_z: jax.grad(lambda y: by_z @ forms(y, ()))(x))(points, p)

    zero = (jnp.zeros_like(squares), jnp.zeros_like(products))
    for entries, by_entry in zip((squares, products), jax.jacfwd(moved)(zero), strict=True):
        for number, found in enumerate(entries):
            matrix = np.asarray(by_entry[:, :, number]).reshape(-1, part.channels)
            expected = -np.linalg.lstsq(matrix, np.asarray(rows.slopes).reshape(-1))[0]
            close(found, expected, 1e-3)
    close(left, rows.slopes + moved((squares, products)), 1e-4)


def test_blocks_follow_what_they_can_of_a_dense_step():
    """Projected on V and on w, each against the least-squares step written out; and the slopes that are left."""
    model = network(Blocks(3, 2) + Affine(1))
    rows, points = rows_of(model)
    group, p = model.lift.groups[0], rows.by_lifted.value[:, model.lift.linear :]
    (of_pattern, of_weight), left = group.slope_step(points, p, rows.slopes, DAMPING)
    kernel = p @ p.T
    whole = -np.asarray(rows.slopes).T @ np.linalg.solve(kernel + DAMPING * np.trace(kernel) / 12 * np.eye(12), p)
    w, v = np.asarray(group.pattern), np.asarray(group.weight)
    blocks = [range(0, 3), range(3, 6), range(6, 7)]
    for number, block in enumerate(blocks):
        own = w[: len(block)]
        close(of_weight[number], own @ whole[np.asarray(block)] / np.sum(own**2) / 2, 1e-4)
    for j in range(3):
        with_j = [number for number, block in enumerate(blocks) if j < len(block)]
        along = sum(whole[blocks[number][j]] @ v[number] for number in with_j)
        close(of_pattern[j], along / np.sum(v[with_j] ** 2) / 2, 1e-4)
    change = np.einsum("j,ih->ijh", w, of_weight) + np.einsum("j,ih->ijh", of_pattern, v)
    close(left, rows.slopes + p @ change.reshape(9, 2)[:7].T, 1e-4)


def test_forms_take_what_blocks_leave():
    model = network(Blocks(3, 2) + Quadratic(2, 3))
    rows, points = rows_of(model)
    blocks, forms = model.lift.groups
    pattern, weight, squares, products = slope_steps(model.lift, points, rows.by_lifted, rows.slopes, DAMPING)
    expected, left = blocks.slope_step(points, rows.by_lifted.value[:, :2], rows.slopes, DAMPING)
    close(pattern, expected[0])
    close(weight, expected[1])
    after, _ = forms.slope_step(points, rows.by_lifted.value[:, 2:], left, DAMPING)
    close(squares, after[0])
    close(products, after[1])


def test_an_optimiser_without_slopes_refuses_what_follows_them():
    with pytest.raises(InputError, match="quadratic parts and blocks follow the residual's slopes"):
        Spring(lift_in_kernel=True, lift_by_slopes=False).init(network(Blocks(3, 2)))
