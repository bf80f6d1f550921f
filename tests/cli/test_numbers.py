"""Numbers and options as they are typed: what cannot be computed with, or is said twice, is refused in a short line."""

import pytest
from cli.runs import check_refusal, prism

SOLVE = ("solve", "allen-cahn", "--dim", 6, "--steps", 3)
DIGITS = {"400": "9" * 400, "5000": "9" * 5000}
REFUSED = {
    "rate beyond single precision": ((*SOLVE, "--rate", 1e39), "--rate: 1e+39 is beyond single precision"),
    "rate that becomes zero": ((*SOLVE, "--rate", 1e-50), "--rate: 1e-50 is beyond single precision"),
    "damping": ((*SOLVE, "--damping", 1e39), "--damping"),
    "minutes": (("solve", "allen-cahn", "--dim", 6, "--minutes", 1e308), "--minutes"),
    "seconds between checkpoints": ((*SOLVE, "--checkpoint-seconds", 1e-50), "--checkpoint-seconds"),
    "seconds of tuning": (("tune", "run", "--mu", "mu1=1", "--out", "out", "--seconds", 1e39), "--seconds"),
    "noise": (("invert", "run", "data.csv", "--noise", 1e-50), "--noise"),
    "model error": (("invert", "run", "data.csv", "--model-error", 1e39), "--model-error"),
    "physics": (("invert", "run", "data.csv", "--physics", 1e39), "--physics"),
    "a number of a lift": ((*SOLVE, "--lift", "dense:8:bias=1e39"), "--lift dense:8:bias=1e39: 1e39 is beyond"),
    "bounds": ((*SOLVE, "--bounds", "mu1=0:1e39"), "1e39 is beyond single precision"),
    "more steps than are counted": (("solve", "allen-cahn", "--dim", 6, "--steps", 2**31), "--steps 2147483648 is too"),
    "an empty value": ((*SOLVE, "--pairs", ""), "--pairs: the value is empty; give one, or leave the option out"),
    "an option twice": ((*SOLVE, "--dim", 7), "--dim: given twice; give it once"),
    "parameters in two options": (
        ("trust", "run", "--mu", "mu1=1", "--mu", "mu2=1"),
        "--mu: given twice; give it once",
    ),
    "bounds of a parameter twice": (
        (*SOLVE, "--bounds", "mu1=0:1", "--bounds", "mu1=0:2"),
        "--bounds gives mu1 twice; give it once",
    ),
    "a key of a lift twice": ((*SOLVE, "--lift", "dense:8:bias=1:bias=2"), "dense has bias twice; give it once"),
    "a place of a lift twice": ((*SOLVE, "--lift", "sites:2:window=3"), "sites has window twice; give it once"),
    "a parameter twice": (
        ("reference", "allen-cahn", "--dim", 6, "--mu", "mu1=1", "mu1=2", "--at", "x=0"),
        "--mu gives mu1 twice; give it once",
    ),
    "a parameter beyond single precision": (
        ("reference", "allen-cahn", "--dim", 6, "--mu", "mu1=1e39", "mu2=2", "--at", "x=0"),
        "1e39 is beyond single precision",
    ),
    "a coordinate twice": (
        ("reference", "allen-cahn", "--dim", 6, "--mu", "mu1=1", "mu2=2", "--at", "x=0,x=1"),
        "gives a coordinate twice; give each once",
    ),
    "a coordinate beyond single precision": (
        ("reference", "allen-cahn", "--dim", 6, "--mu", "mu1=1", "mu2=2", "--at", "x=1e39"),
        "--at x=1e39: 1e39 is beyond single precision",
    ),
    **{
        f"{length} digits of {option}": ((*SOLVE, option, digits), f"{digits[:20]}")
        for length, digits in DIGITS.items()
        for option in ("--points", "--width", "--seed", "--slopes")
    },
    **{
        f"{length} digits in {option}": ((*SOLVE, option, f"{name}:{digits}"), f"{digits[:20]}")
        for length, digits in DIGITS.items()
        for option, name in (("--lift", "dense"), ("--estimator", "gaussian"))
    },
    "5000 digits of a rate": ((*SOLVE, "--rate", DIGITS["5000"]), "--rate inf is too small or too large"),
    "an unknown option of 5000 characters": ((*SOLVE, "--" + DIGITS["5000"], 1), " ... "),
    "a name of 5000 characters": ((*SOLVE, "--modulation", DIGITS["5000"]), " ... "),
    "a lift of two lines": ((*SOLVE, "--lift", "dense:8\ndense"), "--lift dense:8?dense"),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_a_number_that_cannot_be_meant_is_refused_in_a_short_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    ran = prism(*arguments)
    check_refusal(ran, words)
    assert len(ran.err) < 400
    assert list(tmp_path.iterdir()) == []


def test_flags_and_repeatable_options_may_be_repeated():
    ran = prism(*SOLVE, "--bounds", "mu1=0:1", "--bounds", "mu2=0:1", "--json", "--json", "--modulation", "flim")
    check_refusal(ran, "unknown modulation 'flim'")
