"""The examples of the docstrings run, and give what they say; references know whether they agree."""

import doctest
import importlib

import pytest

from prism.references.reference import Reference

MODULES = (
    "references.reference",
    "references.radial",
    "references.finite_differences",
    "references.picard",
    "references.splitting",
    "references.matrix_product",
    "references.cole_hopf_quadrature",
    "formulas.diffusion",
    "formulas.flow",
    "formulas.cole_hopf",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    found = doctest.testmod(importlib.import_module(f"prism.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_references_agree_where_their_intervals_meet():
    here = Reference(1.0, 0.25, "a")
    assert here.agrees(Reference(1.5, 0.25, "b"))
    assert not here.agrees(Reference(1.5, 0.125, "b"))
    assert Reference(1.5, 0.25, "b").agrees(here)
