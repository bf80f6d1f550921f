"""The command line explains itself: help in sentences, families one by one, completion in a shell."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.runs import check_refusal, prism

from prism.cli.bench import STUDIES
from prism.cli.completion import script
from prism.cli.names import FAMILIES
from prism.cli.parser import build_parser
from prism.cli.texts import BENCH


def subparsers() -> dict[str, argparse.ArgumentParser]:
    parser = build_parser()
    return next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))


COMMANDS = subparsers()
every_command = pytest.mark.parametrize("command", COMMANDS)

# Help


@every_command
def test_every_command_shows_an_example(command):
    ran = prism(command, "--help")
    assert ran.code == 0
    assert f"example:\n  prism {command}" in ran.out


@every_command
def test_examples_can_be_typed(command):
    typed = re.findall(r"^  prism ([^>\n]*)", COMMANDS[command].epilog or "", re.MULTILINE)
    assert typed
    for line in typed:
        build_parser().parse_args(line.split())


@every_command
def test_every_option_is_explained_in_sentences(command):
    """Each begins with a capital or with the name of a value, none with a symbol made a capital, and ends as
    sentences do."""
    for action in COMMANDS[command]._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        meaning = action.help or ""
        assert len(meaning.split()) >= 4, (action.dest, meaning)
        assert meaning.endswith("."), meaning
        assert meaning[0].isupper() or action.dest == "pairing", meaning


@every_command
def test_symbols_are_never_capitalised(command):
    """μ, and u as a word; γ and β stand for themselves."""
    text = prism(command, "--help").out
    assert "Μ" not in text, "the Greek capital"
    assert not re.search(r"\bU (at|from|of)\b", text)


def test_the_list_of_commands_keeps_symbols():
    text = prism("--help").out
    assert "infer μ from noisy values of u" in text
    assert "evaluate u at given points and any μ" in text


def test_common_options_of_solve_come_before_those_of_experts():
    text = prism("solve", "--help").out
    common, _, expert = text.partition("expert options:")
    for option in ("FAMILY", "--dim", "--bounds", "--minutes", "--steps", "--seed", "--out", "--resume", "--json"):
        assert f"\n  {option} " in common, option
        assert f"\n  {option} " not in expert, option
    for option in ("--estimator", "--lift", "--width", "--optimiser", "--rate", "--points", "--pairing", "--slopes"):
        assert f"\n  {option} " in expert, option
        assert f"\n  {option} " not in common, option


def test_every_study_is_named_in_the_help():
    named = re.findall(r"^  ([\w-]+)  +\w", BENCH.example.partition("the studies:")[2], re.MULTILINE)
    assert named == list(STUDIES)


def test_the_list_shows_how_long_each_study_takes():
    lines = prism("list").out.partition("studies:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == list(STUDIES)
    assert all(re.search(r"about \d+ (seconds|minutes), with --full [\d.]+ (minutes|hours)$", line) for line in lines)


# Completion


def completed(directory: Path, *words: str) -> set[str]:
    """What bash offers for the last of these words."""
    file = directory.parent / "prism.bash"
    file.write_text(script("bash"))
    asking = (
        f"source {file}\n"
        'COMP_WORDS=("$@")\n'
        "COMP_CWORD=$(($# - 1))\n"
        "complete -p prism > /dev/null || exit 1\n"
        "_shtab_prism\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    ran = subprocess.run(
        ["bash", "--norc", "-c", asking, "bash", *words], cwd=directory, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


@pytest.fixture
def place(tmp_path) -> Path:
    directory = tmp_path / "place"
    (directory / "runs" / "first").mkdir(parents=True)
    (directory / "points.csv").write_text("0\n")
    return directory


COMPLETIONS = {
    "commands": ((), "", set(COMMANDS)),
    "a command": ((), "st", {"structure"}),
    "families": (("solve",), "", set(FAMILIES)),
    "a family to explain": (("list",), "hj", {"hjb-log", "hjb-rosenbrock"}),
    "options": (("solve", "heat"), "--mod", {"--modulation"}),
    "values of an option": (("solve", "heat", "--optimiser"), "", {"spring", "adam"}),
    "studies": (("bench",), "", set(STUDIES)),
    "a study": (("bench",), "mo", {"motivation", "modulation"}),
    "directories": (("solve", "heat", "--out"), "", {"runs"}),
    "a run": (("predict",), "runs/", {"runs/first"}),
    "files": (("predict", "run", "--mu", "mu1=1", "--points"), "", {"runs", "points.csv"}),
    "options behind values": (("predict", "run", "--mu", "mu1=1", "mu2=1"), "--po", {"--points"}),
    "shells": (("completion",), "ba", {"bash"}),
}


@pytest.mark.parametrize(("before", "begun", "offered"), COMPLETIONS.values(), ids=COMPLETIONS)
def test_bash_completes(place, before, begun, offered):
    assert completed(place, "prism", *before, begun) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "powershell"])
def test_a_script_is_printed_for_every_shell(shell):
    ran = prism("completion", shell)
    assert ran.code == 0
    for word in ("sine-gordon-time-beta", "checkpoint-seconds", "parabolic"):
        assert word in ran.out


def test_another_shell_is_refused():
    check_refusal(prism("completion", "csh2"), "unknown shell 'csh2'; choose bash, zsh")


def test_completion_parses_nothing():
    """A name that the script does not offer is left to the command, which refuses it with those there are."""
    script("bash")
    assert build_parser().parse_args(["solve", "my.py:Heat"]).family == "my.py:Heat"


# The process


def test_the_help_of_every_command_imports_no_jax():
    code = (
        "import sys; from prism.cli import main\n"
        f"for command in {list(COMMANDS)}:\n"
        "    try: main([command, '--help'])\n"
        "    except SystemExit: pass\n"
        "print([name for name in ('jax', 'numpy', 'equinox', 'shtab') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
