"""Products, sums and trains: three ways to ⟨Ψ, Ψ⟩ that agree, and what one form has in common with another."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import close

from prism import InputError
from prism.eigen.forms import Form, Product, Sum, Train

FORMS = [Product(), Product(2), Sum(1), Sum(3), Train(1), Train(3)]
PLACES = 4
every_form = pytest.mark.parametrize("form", FORMS, ids=str)


def values_of(form: Form, points: int = 6):
    """The functions of each place at some points, as if these were all there are."""
    return jnp.asarray(np.random.default_rng(5).normal(size=(PLACES, points, form.functions)))


def wave(form: Form, values):
    """Every part of Ψ where each place stands at one of its points."""
    return functools.reduce(form.multiplied, values, form.first)


def parts(form: Form):
    """Ψ's parts at all 6^4 choices of points, one after the other."""
    values = values_of(form)
    indices = np.stack(np.meshgrid(*[range(6)] * PLACES, indexing="ij"), axis=-1).reshape(-1, PLACES)
    rows = form.first[None]
    rows = jnp.broadcast_to(rows, (len(indices), form.rank))
    for place in range(PLACES):
        chosen = values[place][indices[:, place]]
        if isinstance(form, Train):
            rows = jnp.einsum("na,nab->nb", rows, chosen.reshape(-1, form.rank, form.rank))
        else:
            rows = rows * chosen[:, : form.rank]
    return rows


def overlaps(form: Form):
    values = values_of(form)
    return jnp.einsum("iqs,iqt->ist", values, values)


@every_form
def test_the_bond_behind_the_last_place_is_the_norm_of_all_points(form):
    found = parts(form)
    close(functools.reduce(form.carried, overlaps(form), form.start), found.T @ found)


@every_form
def test_a_row_is_multiplied_place_by_place(form):
    values = values_of(form)
    close(wave(form, values[:, 0]), parts(form)[0])


@every_form
def test_the_way_back_gives_the_same_norm(form):
    """αᵀNα, where α begins the way back."""
    alpha, every = jnp.arange(1.0, form.rank + 1), overlaps(form)
    end = jnp.outer(alpha, alpha)
    norm = functools.reduce(form.carried, every, form.start)
    back = functools.reduce(form.carried_back, reversed(every), end)
    close(jnp.sum(form.start * back), alpha @ norm @ alpha)


@every_form
def test_the_bonds_on_both_sides_of_a_place_give_the_same_norm(form):
    """With its own overlaps between them; of a product with functions above the lowest, with that of the lowest."""
    alpha, every = jnp.arange(1.0, form.rank + 1), overlaps(form)
    norm = functools.reduce(form.carried, every, form.start)
    for place in range(PLACES):
        before = functools.reduce(form.carried, every[:place], form.start)
        behind = functools.reduce(form.carried_back, reversed(every[place + 1 :]), jnp.outer(alpha, alpha))
        close(jnp.sum(form.carried(before, every[place]) * behind), alpha @ norm @ alpha)


def test_one_term_or_one_bond_is_a_product():
    for form in (Sum(1), Train(1)):
        close(parts(form), parts(Product()))


def test_a_sum_is_a_train_of_diagonal_matrices():
    """Whose first matrix has its terms in its first row, for a train begins with that."""
    values = values_of(Sum(3))
    as_train = jnp.einsum("iqs,st->iqst", values, jnp.eye(3)).at[0, :, 0, :].set(values[0])
    found = functools.reduce(Train(3).multiplied, as_train.reshape(PLACES, 6, 9)[:, 2], Train(3).first)
    close(found, wave(Sum(3), values[:, 2]))


@every_form
def test_what_it_begins_with_is_one_product_in_every_part(form):
    """Before training, but for the random parts: no part vanishes that the others need."""
    found = functools.reduce(form.multiplied, [form.offset] * PLACES, form.first)
    assert found[0] == 1.0
    assert set(np.asarray(found)) <= {0.0, 1.0}


def test_functions_that_are_to_be_orthogonal_begin_apart():
    """Those of a product with powers of ξ, one after the other; those of the others are joined, and begin alike."""
    assert Product(2).powers == (0, 1, 2)
    assert Sum(3).powers == (0, 0, 0)
    assert Train(2).powers == (0, 0, 0, 0)


@every_form
def test_scales_take_the_sizes_of_the_functions_out(form):
    """So that a thousand of them over- or underflow no more than one."""
    one = overlaps(form)[0]
    for size in (1e-100, 1.0, 1e100):
        scaled = one * size * form.scales(one * size)[:, None] * form.scales(one * size)[None, :]
        close(scaled, one * form.scales(one)[:, None] * form.scales(one)[None, :])
        assert np.trace(scaled) == pytest.approx(form.rank if isinstance(form, Train) else form.functions)


@pytest.mark.parametrize("wrong", [lambda: Sum(0), lambda: Train(0), lambda: Product(-1)])
def test_no_functions_at_all_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()
