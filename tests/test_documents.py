"""The code in README and docs runs as it stands, with a few steps in place of minutes; so do the examples."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    "README.md",
    *(pytest.param(f"docs/{name}.md", marks=pytest.mark.slow) for name in ("defining-a-pde", "inversion", "export")),
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_code_blocks_run(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    assert blocks
    code = re.sub(r"minutes=[\d.]+", "steps=2, progress=False", "\n".join(blocks))
    exec(compile(code, name, "exec"), {"__name__": "document"})


def test_skeleton_defines_a_family_that_passes_the_check():
    import jax

    import prism
    from prism.problem.checks import check_family

    module = runpy.run_path(str(ROOT / "examples/skeleton.py"))
    check_family(module["MyFamily"](prism.Ball(10)), jax.random.key(0))


def test_estimator_example(capsys):
    runpy.run_path(str(ROOT / "examples/estimators.py"))["main"](draws=4)
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_own_pde_example(capsys):
    runpy.run_path(str(ROOT / "examples/own_pde.py"))["main"](minutes=0.05)
    assert "skill" in capsys.readouterr().out
