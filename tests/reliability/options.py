"""Calls with options that are wrong, missing, repeated, huge, or no numbers."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from reliability.cases import ANY, ODD, REFUSED, WORTHLESS, Case

MU = ("--mu", "mu1=1", "mu2=1")
SIZE = ("--width", "4", "--lift", "dense:4+affine:4", "--depth", "2", "--generator-width", "4", "--points", "4")
HUGE = ("1000000000", "1000000000000", "9" * 400)
NO_NUMBER = ("", " ", "ten", "1,5", "0x10", "½", "\udcff", "--", "1 2", "None", "[]", "1e", "+-1", "1;2")
NO_COUNT = (*NO_NUMBER, "1.5", "nan", "inf", "1e3", "0", "-1", "-99999999999999999999")
NO_SIZE = ("0", "-1", "-0.0", "nan", "-nan", "inf", "-inf", "1e999", "-1e-300")
NO_NAME = ("", " ", "no-such-name", "é", "../..", "-", "ALLEN-CAHN", "a" * 5000, "\udcff", "%s", "{}", "None")
NO_FAMILY = (*NO_NAME, "my.py", "my.py:", ":Mine", "my.py:None", "my.py:Mine:Mine", "missing.py:Mine", "run:Mine")
NO_LIFT = (*NO_NAME, "dense", "dense:", "dense:0", "dense:-4", "dense:1.5", "dense:nan", "dense:4+", "+", "dense:4:x=1")
NO_LIFT += ("dense:4:bias=", "dense:4:bias=nan", "dense:4:bias=inf", "sites:0", "sites:9", "sites:-1", "blocks:0:4")
NO_LIFT += ("sites:2:features=0", "sites:2:features=1000000000000", "dense:4:bias=1:bias=2", "dense:" + "9" * 400)
NO_LIFT += ("dense:1000000000000", "blocks:1:1000000000000", "affine:1000000000", "quadratic:99", "norm:own", "time")
NO_ESTIMATOR = (*NO_NAME, "exact:3", "gram:0", "gram:-1", "gaussian", "gaussian:", "gaussian:1.5", "coordinates:4")
NO_ESTIMATOR += ("gaussian:4:shared:shared", "coordinates:", "rademacher:nan", "gaussian:" + "9" * 400, "gram:٣x")
NO_ESTIMATOR += ("gaussian:1000000000000", "rademacher:1000000000")
NO_BOUNDS = ("", "mu1", "mu1=", "mu1=1", "mu1=1:", "mu1=:1", "mu1=a:b", "mu1=2:1", "mu1=1:1", "mu1=nan:1", "mu1=1:nan")
NO_BOUNDS += ("mu1=0:inf", "mu1=-inf:0", "mu1=1:1.000000000001", "mu9=0:1", "=0:1", "mu1=1:2:3", "mu1=1e400:1e401")
NO_BOUNDS += ("mu1==0:1", "mu1=1:" + "9" * 400, "é=0:1", "mu1=-1e300:1e300")
NO_MU = (("mu1=1",), ("mu1=1", "mu2=nan"), ("mu1=1", "mu2=inf"), ("mu1=1", "mu2=a"), ("mu1", "mu2"), ("mu1=1", "mu1=2"))
NO_MU += (("mu1=1", "mu2=1", "mu3=1"), ("mu1=1", "mu2=1", "mu2=1"), ("", ""), ("=1", "mu2=1"), ("mu1=1=1", "mu2=1"))
NO_MU += (("mu1=1", "mu2=1e400"), ("mu1=1", "mu2=" + "9" * 400), ("μ₁=1", "mu2=1"), ("mu1=1", "mu2=1e39"), ())
NO_MU += (("mu1=1,mu2=1",), ("mu1=1", "mu2=0x1"), ("mu1=1", "mu2=1j"), ("--mu1=1",))
NO_POINT = ("", "x", "x=", "x=0", "x=0,t=", "x=0,t=9", "x=0,t=-1", "x=nan,t=0", "x=inf,t=0", "x=0,t=nan", "y=0,t=0")
NO_POINT += ("x=0,t=0,t=0", "x=0,x=0,t=0", "x=0;t=0", "x=missing.csv,t=0", "x=.,t=0", "x=1e400,t=0", "x=é,t=0")
NO_POINT += ("x=0,t=0,y=0", ",", "x=/dev/zero,t=0", "t=0", "x=run/config.json,t=0")
NO_PLACE = ("foreign", "foreign/notes.txt", "run", "run/config.json", "run/model", "points.csv", "my.py", "")
NO_PLACE += ("/proc/nothing/out", "/dev/null", "/dev/full", "fifo", "loop", "dangling", "points.csv/out", "a" * 300)
NO_PLACE += ("out/" + "b/" * 3000,)
NO_RUN = ("missing", "", "foreign", "points.csv", "/dev/null", ".", "fifo", "loop", "é", "a" * 300, "run/config.json")
UNKNOWN = ("--bogus", "--dimension", "--dimm", "-x", "--json=yes", "--force=1", "--é", "---", "-", "--")
"""The last one is no option, and a call may be right with it."""
FLAWED = {
    "integer": NO_COUNT,
    "huge": HUGE,
    "number": (*NO_NUMBER, *NO_SIZE),
    "name": NO_NAME,
    "family": NO_FAMILY,
    "lift": NO_LIFT,
    "estimator": NO_ESTIMATOR,
    "bounds": NO_BOUNDS,
    "point": NO_POINT,
    "seed": (*NO_NUMBER, "1.5", "nan", "-1", str(2**32), *HUGE[1:]),
    "place": NO_PLACE,
    "run": NO_RUN,
    "taken": ("foreign", "foreign/notes.txt", "points.csv", "/dev/null", "fifo", "loop", "dangling", "points.csv/out"),
    "fewer": ("1", "5", "19"),
    "overflow": ("1e38", "1e39", "1e300", "1e308"),
}
"""Values that no option of a kind may have."""


@dataclass(frozen=True)
class Call:
    """A call that is right, and of which kind its options' values are."""

    words: tuple[str, ...]
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Kinds of wrong values by option; a positional argument by its place in the words, as text."""
    runs: bool = True
    """Whether the call as it is ends within seconds."""


PROBLEM = {
    "--dim": ("integer", "huge"),
    "--bounds": ("bounds",),
    "--space": ("name",),
    "--pairs": ("name",),
    "--seed": ("seed",),
}
SIZES = ("--width", "--depth", "--generator-width", "--points", "--params")
NAMES = ("--modulation", "--activation", "--loss", "--slopes", "--optimiser", "--lift-step", "--pairing")
CALLS = {
    "solve": Call(
        ("solve", "allen-cahn", "--dim", "3", *SIZE, "--steps", "2", "--out", "out", "--json"),
        {
            "1": ("family",),
            **PROBLEM,
            **dict.fromkeys(SIZES, ("integer", "huge")),
            **dict.fromkeys(NAMES, ("name",)),
            **dict.fromkeys(("--steps", "--worst-case"), ("integer",)),
            **dict.fromkeys(("--damping", "--checkpoint-seconds"), ("number",)),
            "--rate": ("number", "overflow"),
            "--momentum": ("number",),
            "--lift": ("lift",),
            "--estimator": ("estimator",),
            "--out": ("place",),
            "--resume": ("run",),
        },
    ),
    "structure": Call(
        ("structure", "allen-cahn", "--dim", "3", "--out", "out", "--json"),
        {"1": ("family",), **PROBLEM, "--out": ("place",)},
    ),
    "reference": Call(
        ("reference", "heat", "--dim", "3", "--mu", "mu1=1", "--at", "x=0,t=0.3", "--json"),
        {"1": ("family",), **PROBLEM, "--at": ("point",)},
    ),
    "resume": Call(
        ("solve", "--resume", "run", "--steps", "30", "--json"),
        {
            "2": ("run",),
            "--steps": ("integer", "fewer"),
            "--dim": ("integer",),
            "--lift": ("lift",),
            "--seed": ("seed",),
        },
    ),
    "demo": Call(("demo", "--json"), {"--out": ("taken",)}, runs=False),
    "predict": Call(
        ("predict", "run", *MU, "--points", "points.csv", "--json"),
        {"1": ("run",), "--points": ("run",), "--out": ("place",), "--family": ("family",)},
    ),
    "trust": Call(("trust", "run", *MU, "--json"), {"1": ("run",), "--family": ("family",)}),
    "tune": Call(
        ("tune", "run", *MU, "--seconds", "0.5", "--out", "out", "--json"),
        {"1": ("run",), "--seconds": ("number",), "--trains": ("name",), "--out": ("place",)},
    ),
    "export": Call(("export", "run", "--out", "out", "--json"), {"1": ("run",), "--out": ("place",)}),
    "invert": Call(
        ("invert", "run", "data.csv", "--json"),
        {
            "1": ("run",),
            "2": ("run",),
            "--noise": ("number", "overflow"),
            "--model-error": ("number", "overflow"),
            "--physics": ("number", "overflow"),
            "--out": ("place",),
        },
    ),
    "bench": Call(("bench", "no-such-study"), {"1": ("name",), "--out": ("place",)}, runs=False),
    "list": Call(("list", "--json"), {"1": ("name",)}),
    "completion": Call(("completion", "bash"), {"1": ("name",)}),
    "none": Call((), {}, runs=False),
}
TOGETHER = (
    ("--bounds", "mu1=0.5:1", "--bounds", "mu1=0.6:2"),
    ("--minutes", "1"),
    ("--more-steps", "2"),
    ("--more-minutes", "2"),
    ("--optimiser", "adam", "--damping", "1"),
    ("--optimiser", "adam", "--lift-step", "kernel"),
    ("--pairing", "paired", "--params", "3"),
    ("--slopes", "whole"),
    ("--resume", "run"),
    ("--space", "log-uniform", "--bounds", "mu1=0:1"),
    ("--space", "log-uniform", "--bounds", "mu1=-1:1"),
    ("--bounds", "mu1=0.5:1e38", "--bounds", "mu2=0.5:1e38"),
    ("--scaled", "--pairs", "nobody"),
    ("--estimator", "rademacher:4", "--dim", "0"),
    ("--points", "1000000000", "--params", "1000000000", "--pairing", "crossed"),
)
"""Options of solve that do not go together."""
NOT_NEGATIVE = ("--model-error", "--physics", "--momentum")
"""Of these, zero is a value."""


def draw(random: np.random.Generator, call: Call) -> Case:
    """One call with one thing wrong."""
    ways = [_unknown, _surplus, _cut, *([_flawed] * 6 if call.options else [])]
    if call.words[2:5] == MU:
        ways += [_mu, _mu]
    if "--steps" in call.words and "--resume" not in call.words:
        ways += [_together]
    return ways[random.integers(len(ways))](random, call)


def _flawed(random: np.random.Generator, call: Call) -> Case:
    option = random.choice(list(call.options))
    kind = random.choice(call.options[option])
    value = random.choice(FLAWED[kind])
    codes = ANY if kind == "overflow" else REFUSED
    zero = option in NOT_NEGATIVE and value in ("0", "-0.0")
    is_a_table = option == "--points" and value == "points.csv"
    if zero or is_a_table or value == "--" or (not value and option == "--out") or call.words[:1] == ("list",):
        codes = ODD  # zero is a value of some, that table holds points, and where nothing is said there is a default
    return Case("option", f"{option} {kind}", replaced(call.words, option, str(value)), codes, snares)


def replaced(words: tuple[str, ...], option: str, value: str) -> tuple[str, ...]:
    """The call with another value of an option."""
    at = int(option) if option.isdecimal() else words.index(option) + 1 if option in words else None
    if at is None or at >= len(words):
        return (*words, value) if option.isdecimal() else (*words, option, value)
    return (*words[:at], value, *words[at + 1 :])


def _mu(random: np.random.Generator, call: Call) -> Case:
    values, at = NO_MU[random.integers(len(NO_MU))], call.words.index("--mu")
    words = (*call.words[:at], "--mu", *values, *call.words[at + 3 :])
    return Case("option", "--mu", words, WORTHLESS if "mu2=1e39" in values else REFUSED)


def _unknown(random: np.random.Generator, call: Call) -> Case:
    option = random.choice(UNKNOWN if call.runs else UNKNOWN[:-1])
    codes = ODD if option == "--" else REFUSED
    at = int(random.integers(1, len(call.words) + 1)) if call.words else 0
    return Case("option", f"unknown {option}", (*call.words[:at], option, *call.words[at:]), codes)


def _surplus(random: np.random.Generator, call: Call) -> Case:
    """One word more than is asked for, or an option twice."""
    options = [at for at, word in enumerate(call.words) if word.startswith("--") and word not in ("--json", "--mu")]
    if not options or random.random() < 0.3:
        return Case(
            "option", "a surplus word", (*call.words, "surplus"), ODD if call.words[:1] == ("list",) else REFUSED
        )
    at = options[random.integers(len(options))]
    again = call.words[at : at + 2]
    has_value = len(again) > 1 and not again[1].startswith("--")
    return Case("option", f"{again[0]} twice", (*call.words, *again), REFUSED if has_value else ANY)


def _cut(random: np.random.Generator, call: Call) -> Case:
    """A call that ends early; one that would work for long with an option that is refused."""
    length = int(random.integers(len(call.words))) if call.words else 0
    words = call.words[:length]
    if words[:1] in (("solve",), ("demo",), ("bench",)):
        words = (*words, "--bogus")
    may_be_whole = (length > 1 and words[-1] != "--bogus") or words == ("list",)
    return Case("option", f"the first {length} words", words, ANY if may_be_whole else REFUSED)


def _together(random: np.random.Generator, call: Call) -> Case:
    more = TOGETHER[random.integers(len(TOGETHER))]
    return Case("option", " ".join(more), (*call.words, *more))


def snares(place: Path) -> None:
    """Entries of a directory that are no places to write to."""
    os.mkfifo(place / "fifo")
    (place / "loop").symlink_to("loop")
    (place / "dangling").symlink_to("nowhere/at/all")
