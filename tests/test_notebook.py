"""The notebook of the examples: it was run as it stands, with public names alone, and runs again."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import prism

PATH = Path(__file__).parent.parent / "examples" / "notebook.ipynb"


@pytest.fixture
def notebook():
    return nbformat.read(PATH, as_version=4)


def code(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_was_run_from_top_to_bottom(notebook):
    nbformat.validate(notebook)
    cells = code(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type in ("error", "stream")
                and output.get("name") != "stdout"]  # fmt: skip


def test_its_outputs_are_what_a_notebook_shows(notebook):
    shown = "".join(str(output.get("data", {})) for cell in code(notebook) for output in cell.outputs)
    for sign in ("Solution of Screened in 20 dimensions", "<iframe srcdoc=", "xarray.Dataset", "image/png"):
        assert sign in shown
    cards = [output.data["text/html"] for output in code(notebook)[1].outputs]
    assert "<script" not in cards[0]


def test_it_uses_public_names_alone(notebook):
    tree = ast.parse("\n".join(cell.source for cell in code(notebook)))
    asked = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "prism"
    }
    assert asked <= set(prism.__all__)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_it_runs(notebook, tmp_path):
    """With a training of seconds."""
    for cell in code(notebook):
        cell.source = re.sub(r"minutes=[\d.]+", "steps=20", cell.source)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert (tmp_path / "screened.nc").is_file()
