"""Sizes that cannot work: refused at once by the command, with a value that fits."""

import pytest
from cli.runs import check_refusal, prism

SOLVE = ("solve", "allen-cahn", "--dim", 6, "--steps", 3)
MANY = 10**9
TOO_LARGE = {
    "points": ((*SOLVE, "--points", MANY), "--points"),
    "parameters": ((*SOLVE, "--params", MANY), "--params"),
    "width": ((*SOLVE, "--width", MANY), "--width"),
    "generator width": ((*SOLVE, "--generator-width", MANY), "--generator-width"),
    "layers": ((*SOLVE, "--depth", MANY), "1,000,000,000 layers take too long to compile; give 256 or less"),
    "channels": ((*SOLVE, "--lift", "dense:1000000000000"), "--lift dense:"),
    "affine channels": ((*SOLVE, "--lift", f"affine:{MANY}"), "--lift affine:"),
    "width of blocks": ((*SOLVE, "--lift", f"blocks:5:{MANY}"), "--lift blocks:5:"),
    "size of blocks": ((*SOLVE, "--lift", f"blocks:{MANY}:8"), "--lift blocks:"),
    "features of sites": ((*SOLVE, "--lift", f"sites:2:features={MANY}"), "--lift sites:2:features="),
    "window of sites": ((*SOLVE, "--lift", f"sites:{MANY}"), "does not fit into 6 dimensions"),
    "window of forms": ((*SOLVE, "--lift", f"quadratic:{MANY}"), "does not fit into 6 dimensions"),
    "forms": ((*SOLVE, "--lift", f"quadratic:2:channels={MANY}"), "--lift quadratic:2:channels="),
    "pairs of forms": (
        ("solve", "allen-cahn", "--dim", 100_000, "--steps", 3, "--lift", "quadratic:100000"),
        "--lift quadratic:",
    ),
    "directions": ((*SOLVE, "--estimator", f"rademacher:{MANY}"), "--estimator rademacher:"),
    "slopes": ((*SOLVE, "--slopes", MANY), "--slopes"),
    "ascents": ((*SOLVE, "--worst-case", MANY), "a worst case of 1,000,000,000 steps per batch takes too long"),
    "dimensions": (("solve", "allen-cahn", "--dim", 10**12, "--steps", 3), "--dim 1000000000000 is too large"),
    "dimensions of a structure": (("structure", "allen-cahn", "--dim", 10**12), "--dim 1000000000000 is too large"),
    "points and width": ((*SOLVE, "--points", MANY, "--width", MANY), "and --points 400 fit"),
}


@pytest.mark.parametrize(("arguments", "words"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_size_that_cannot_work_is_refused_at_once(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    # Nothing is traced: a program would be needed for that.
    monkeypatch.setattr("prism.solving.preparation._traced_state", lambda *_: pytest.fail("something was traced"))
    check_refusal(prism(*arguments), words)
    assert list(tmp_path.iterdir()) == []
