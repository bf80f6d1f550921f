"""The documents are true: code and commands run, tables follow the results, the reference knows every public name."""

import argparse
import importlib.util
import inspect
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
)
WIDTH = 100
PROGRAMS = ("prism", "python", "make")
SHORT = ("--steps", "2", "--width", "8", "--lift", "dense:8+affine:4", "--depth", "2", "--points", "20")
"""Seconds instead of minutes."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def python_blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text_of(name), re.DOTALL)


def shell_lines(name: str) -> list[str]:
    """Lines of the blocks without a language, and of indented ones; continued lines joined, comments left out."""
    text = text_of(name)
    blocks = re.findall(r"```\n(.*?)```", re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL), re.DOTALL)
    blocks += re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].split(" # ")[0].strip() for line in lines if line.strip()]


def commands(name: str, program: str) -> list[list[str]]:
    """What follows the program in every line that starts with it."""
    return [shlex.split(line)[1:] for line in shell_lines(name) if line.startswith(f"{program} ")]


def mentioned(name: str) -> list[list[str]]:
    """Commands named in a sentence: `prism solve FAMILY --dim D`."""
    outside = re.sub(r"```.*?```", "", text_of(name), flags=re.DOTALL)
    return [shlex.split(found)[1:] for found in re.findall(r"`(prism [a-z][^`]*)`", outside)]


def test_there_are_commands_to_test():
    assert sum(len(commands(page, program)) for page in PAGES for program in PROGRAMS) > 30
    assert sum(len(mentioned(page)) for page in PAGES) > 30


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short(page):
    long = [line for line in text_of(page).splitlines() if len(line) > WIDTH and not line.startswith("|")]
    assert not long


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_understood(page):
    from prism.cli.parser import build_parser

    for words in commands(page, "prism"):
        build_parser().parse_args(words)


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_sentences_have_options_that_exist(page):
    from prism.cli.parser import build_parser

    known = next(action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for command, *words in mentioned(page):
        assert command in known.choices, command
        options = {word for word in words if word.startswith("--")}
        assert options <= set(known.choices[command]._option_string_actions), (command, words)


@pytest.mark.parametrize("page", PAGES)
def test_studies_exist(page):
    from prism.cli.bench import STUDIES

    named = [words[1] for words in (*commands(page, "prism"), *mentioned(page)) if words[0] == "bench"]
    assert set(named) <= {*STUDIES, "NAME"}


@pytest.mark.parametrize("page", PAGES)
def test_targets_exist(page):
    targets = re.findall(r"^([\w-]+):", text_of("Makefile"), re.MULTILINE)
    named = [*re.findall(r"`make ([\w-]+)", text_of(page)), *(words[0] for words in commands(page, "make"))]
    assert set(named) <= set(targets)


@pytest.mark.parametrize("page", PAGES)
def test_scripts_have_the_options(page):
    in_sentences = re.findall(r"`python ((?:benchmarks|examples)/[^`]*)`", text_of(page))
    for script, *words in (*map(shlex.split, in_sentences), *commands(page, "python")):
        options = {word for word in words if word.startswith("--")}
        assert options <= set(re.findall(r'"(--[\w-]+)"', text_of(script))), (script, words)


@pytest.mark.parametrize("page", PAGES)
def test_names_in_sentences_exist(page):
    """`prism.Spring(lift_in_kernel=True)`: the name is public or a module, and it takes these arguments."""
    import prism

    sentences = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    for name, arguments in re.findall(r"`(?:src/)?prism\.([\w.]+)(?:\(([^`]*)\))?", sentences):
        if importlib.util.find_spec(f"prism.{name.split('.')[0]}"):
            continue
        assert name in prism.__all__, name
        given = set(re.findall(r"(\w+)=", arguments))
        assert not given or given <= set(inspect.signature(getattr(prism, name)).parameters), (name, arguments)


def run_prism(words: list[str]) -> None:
    """As typed, but for two steps of a small network instead of minutes."""
    from prism.cli import main

    if words[0] == "solve":
        more = "--more-minutes" in words
        at = words.index("--more-minutes" if more else "--minutes")
        short = ("--more-steps", "2") if more else ("--steps", "4") if "--resume" in words else SHORT
        words = [*words[:at], *words[at + 2 :], *short]
    if words[0] == "tune":
        words = [*words, "--seconds", "1"]
    assert main(words) == 0, words


def quick(page: str) -> list[list[str]]:
    """What can be run in seconds: studies, which have tests of their own, a million dimensions, and what ends with
    Ctrl-C alone are left out."""
    endless = {"1000000", "--serve"}
    return [words for words in commands(page, "prism") if words[0] != "bench" and not endless & set(words)]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if quick(page)])
def test_commands_run_in_their_order(page, monkeypatch, tmp_path):
    typed = quick(page)
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).normal(size=(40, 100)) / 20
    np.savetxt("points.csv", points, delimiter=",")
    np.savetxt("own.csv", points[:, :50], delimiter=",")
    Path("my.py").write_text("\n".join(python_blocks(page)).split("\n\n\nfamily = ")[0])
    for name in ("data", "monday", "tuesday"):
        np.savetxt(f"{name}.csv", np.column_stack([points, points.sum(axis=1)]), delimiter=",")
    if not any(words[0] == "solve" for words in typed):
        run_prism(["solve", "allen-cahn", "--dim", "100", "--minutes", "1", "--out", "runs/first"])
    for words in typed:
        run_prism(words)


WITH_CODE = [name for name in PAGES if python_blocks(name)]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in WITH_CODE if name != "README.md"]


@pytest.mark.filterwarnings("ignore::prism.PrismWarning")  # two steps solve nothing
@pytest.mark.parametrize("page", ["README.md", *SLOW])
def test_code_blocks_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    code = re.sub(r"minutes=[\d.]+", "steps=2, progress=False", "\n".join(python_blocks(page)))
    exec(compile(code, page, "exec"), {"__name__": "document"})


def test_skeleton_defines_a_family_that_passes_the_check():
    import jax

    import prism
    from prism.problem.checks.family import check_family

    module = runpy.run_path(str(ROOT / "examples/skeleton.py"))
    check_family(module["MyFamily"](prism.Ball(10)), jax.random.key(0))


@pytest.mark.slow
def test_estimator_example(capsys):
    runpy.run_path(str(ROOT / "examples/estimators.py"))["main"](steps=2)
    assert len(capsys.readouterr().out.splitlines()) == 5


@pytest.mark.slow
def test_own_pde_example(capsys):
    runpy.run_path(str(ROOT / "examples/own_pde.py"))["main"](minutes=0.05)
    assert "skill" in capsys.readouterr().out


@pytest.mark.slow
def test_control_example(capsys, tmp_path):
    runpy.run_path(str(ROOT / "examples/control.py"))["main"](minutes=0.1, picture=str(tmp_path / "control.png"))
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert (tmp_path / "control.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_example_of_eigenvalues_runs():
    runpy.run_path(str(ROOT / "examples/eigenvalues.py"))["main"](minutes=0.02, dimension=4)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_use_public_names_alone(path):
    assert not re.search(r"^\s*(from|import) prism\.", path.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", WITH_CODE)
def test_code_blocks_use_public_names_alone(page):
    assert not re.search(r"^\s*(from|import) prism\.", "\n".join(python_blocks(page)), re.MULTILINE)


def test_tables_follow_the_results():
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/tables.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_reference_lists_every_public_name():
    import prism

    hooks = runpy.run_path(str(ROOT / "docs/hooks.py"))
    listed = re.findall(r"^::: prism\.(\w+)$", hooks["reference"](), re.MULTILINE)
    assert sorted(listed) == sorted(set(prism.__all__) - {"__version__"})
