"""No call, file or family ends in a traceback, a wrong exit code, a hang or a changed file of others."""

import itertools

import pytest
from helpers import mostly_slow
from reliability import edits, figures, grammar, grounds, tables
from reliability.cases import Case, attempt, summary
from reliability.commands import Commands
from reliability.options import CALLS, MU, NO_MU, replaced

SEED, CASES = 4711, 500
PREDICT = ("predict", "run", "--points", "points.csv", "--mu")
SIZES = (
    ("--points", "1000000000"),
    ("--width", "1000000000000"),
    ("--depth", "1000000000"),
    ("--dim", "9" * 400),
    ("--bounds", "mu1=1:1.000000000001"),
    ("--out", "foreign"),
    ("--rate", "nan"),
)
TABLES = (
    (".csv", "a FIFO"),
    (".csv", "zero bytes"),
    (".npy", "a huge shape"),
    (".npy", "dates"),
    (".npy", "a header nested deeply"),
    (".npz", "encrypted"),
    (".npz", "nested"),
)


def refusals() -> list[Case]:
    """Cases of every kind that take tenths of a second."""
    words = [(), ("--bogus",), ("no-such-command",), ("demo", "--out", "foreign"), ("completion", "é")]
    words += [replaced(CALLS["solve"].words, option, value) for option, value in SIZES]
    words += [(*PREDICT, *mu) for mu in NO_MU[3:6]]
    found = [Case("option", " ".join(call)[:60], call) for call in words]
    for suffix, note in TABLES:
        content, name = tables.FORMS[suffix][note][0], f"odd{suffix}"
        prepare = lambda place, name=name, content=content: tables.written(place / name, content)
        found.append(Case("table", f"{suffix} {note}", ("predict", "run", *MU, "--points", name), prepare=prepare))
    for note in ("nested deeply", "a list", "an empty object"):
        prepare = edits.broken("model/model.json", edits.BROKEN[note])
        found.append(Case("run", note, edits.ASK["predict"], prepare=prepare))
    return found


@pytest.mark.parametrize("first", mostly_slow({"one half": 0, "the other half": 1}, "one half"))
def test_bad_input_is_refused_in_one_line(first, tmp_path):
    base = grounds.untrained(tmp_path / "base")
    with Commands(tmp_path / "cache") as commands:
        half = refusals()[first::2]
        tried = [attempt(case, commands, base, tmp_path / str(at), 20.0) for at, case in enumerate(half)]
    failures = [one.describe() for one in tried if one.faults]
    assert not failures, figures.told(failures)


def test_the_same_seed_draws_the_same_cases():
    drawn = lambda seed: [(case.arguments, case.note) for case in itertools.islice(grammar.cases(seed), 200)]
    assert drawn(3) == drawn(3) != drawn(4)
    assert len(set(drawn(3))) == 200


def test_every_command_and_kind_is_drawn():
    drawn = list(itertools.islice(grammar.cases(SEED), CASES))
    commands = {call.words[0] if call.words else "none" for call in CALLS.values()}
    assert commands <= {case.command for case in drawn}
    assert {"option", "table", "run", "safetensors", "own family"} == {case.kind for case in drawn}


@pytest.mark.slow
def test_malformed_inputs(tmp_path):
    """CASES calls with something wrong, drawn from every command."""
    with Commands(tmp_path / "cache") as commands:
        base = grounds.trained(tmp_path / "base", commands)
        drawn = itertools.islice(grammar.cases(SEED), figures.scaled(CASES))
        tried = [attempt(case, commands, base, tmp_path / f"case-{number}") for number, case in enumerate(drawn)]
    found = summary(tried)
    failures = [one.describe() for one in tried if one.faults]
    figures.keep("malformed inputs", {**found, "seed": SEED})
    print({name: value for name, value in found.items() if name != "failures"})
    assert not failures, figures.told(failures)
