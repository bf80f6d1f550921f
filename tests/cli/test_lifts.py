"""Lifts as they are typed: what is read is what was meant, and is written as it can be read again."""

import re

import pytest
from cli.runs import check_refusal, prism
from helpers import FAMILIES, KEY, name_of

from prism.cli.lifts import LIFTS, lift_text, parse_lift
from prism.errors import InputError
from prism.families import SineGordon
from prism.networks.lifts.parts import Affine, Blocks, Dense, Norm, Parts, Quadratic, Sites, parts_of
from prism.solving.settings import Settings

FAMILY = SineGordon.create(4, KEY)
USUAL = Dense(256, bias=1.0, clocks=30.0) + Affine(4)


def parsed(text: str, usual: Parts = USUAL) -> Parts:
    return parse_lift(text, usual, FAMILY, 0)


TYPED = {
    "dense:8": Dense(8, bias=1.0, clocks=30.0),
    "dense:8:bias=0.25:clocks=2+affine:3": Dense(8, bias=0.25, clocks=2.0) + Affine(3),
    "affine:1+norm": Affine(1) + Norm(),
    "sites:2": Sites(2),
    "sites:3:features=8:channels=2:hidden=5:bent": Sites(3, features=8, channels=2, hidden=5, bent=True),
    "sites:1:shared+norm": Sites(1, shared=True) + Norm(),
    "sites:2:shared:periodic": Sites(2, shared=True, periodic=True),
    "sites:2+sites:3": Sites(2) + Sites(3),
    "affine:4+quadratic:3:channels=2:periodic": Affine(4) + Quadratic(3, 2, periodic=True),
    "blocks:3:8": Blocks(3, 8),
    "blocks:3:8:bias=0.5+affine:2": Blocks(3, 8, 0.5) + Affine(2),
    "dense:8:bias=0.1234567890123": Dense(8, bias=0.1234567890123, clocks=30.0),
}


@pytest.mark.parametrize(("text", "parts"), TYPED.items(), ids=TYPED)
def test_what_is_typed_is_what_is_meant(text, parts):
    assert parsed(text) == parts_of(parts)
    assert parsed(lift_text(parts_of(parts)), parts_of(Affine(1))) == parts_of(parts), "whatever is usual"


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_the_usual_lift_can_be_typed(family):
    usual = parts_of(Settings.choose(family).architecture.lift)
    assert parse_lift(lift_text(usual), parts_of(Affine(1)), family, 0) == usual


REFUSED = {
    "": "unknown part ''; choose dense, affine, blocks, norm, time, quadratic, sites, joined by +",
    "fourier:8": "unknown part 'fourier'",
    "dense:8+": "unknown part ''",
    "dense": "dense needs a number, such as dense:256",
    "blocks:3": "blocks needs two numbers, such as blocks:100:64",
    "blocks:8:bias=0.5": "blocks needs two numbers, such as blocks:100:64",
    "sites:features=8": "sites needs a number, such as sites:2",
    "blocks:0:8": "the size of a block is 0",
    "dense:8:bias=nan": "'nan' is no number",
    "affine": "affine needs a number, such as affine:4",
    "sites": "sites needs a number, such as sites:2",
    "dense:wide": "'dense:wide' has 'wide', which means nothing there; see `prism list`",
    "dense:-8": "'dense:-8' has '-8', which means nothing there",
    "dense:8:9": "'dense:8:9' has '9', which means nothing there",
    "dense:8:shared": "'dense:8:shared' has 'shared', which means nothing there",
    "dense:8:bias=much": "'much' is no number",
    "norm:3": "'norm:3' has '3', which means nothing there",
    "sites:2:shared=yes": "has 'shared=yes', which means nothing there",
    "sites:2:features=many": "has 'features=many', which means nothing there",
    "sites:2:bias=1": "has 'bias=1', which means nothing there",
    "dense:8:found": "only sites and quadratic parts have groups to be found; write sites:2:found",
    "sites:3:found": "pairs are what is found in an equation; give a window of 2",
    "dense:8+dense:8": "at most; add their channels",
    "dense:0": "the width of a dense lift is 0",
    "sites:2:features=0": "the number of features of Sites is 0",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_what_is_no_lift_is_refused(text, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        parsed(text)
    assert len(str(caught.value).splitlines()) == 1


def test_a_window_wider_than_the_space_is_refused_in_one_line(tmp_path):
    arguments = ("solve", "allen-cahn", "--dim", 6, "--lift", "sites:7", "--steps", 1, "--out", tmp_path / "out")
    check_refusal(prism(*arguments), "a window of 7 coordinates does not fit into 6 dimensions")
    assert not (tmp_path / "out").exists()


def test_every_part_is_listed():
    assert {name.split(":")[0] for name in LIFTS} >= {"dense", "affine", "norm", "sites"}
    listed = prism("list").out
    for name in LIFTS:
        assert name in listed
