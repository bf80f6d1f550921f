"""The tree shows the pipeline: packages import only those before them, modules never import each other in a circle, and
keys are made in one place."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "prism"
LAYERS = (
    ("errors", "shapes", "numerics"),
    ("files", "derivatives", "formulas"),
    ("references",),
    ("problem",),
    ("families", "networks"),
    ("objective",),
    ("training", "solution"),
    ("inversion",),
    ("reporting",),
    ("solving",),
    ("eigen",),
    ("studies",),
    ("cli",),
)
"""Packages from the bottom to the top; those in one line do not import each other, but for what `BESIDE` allows."""
BESIDE = {("shapes", "errors"), ("numerics", "errors"), ("numerics", "shapes")}


def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name, parsed."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = ["prism", *path.relative_to(SOURCE).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text())
    return found


MODULES = modules()


def imports(tree: ast.Module) -> Iterator[str]:
    """The modules of the package that a module imports anywhere, inside functions and for type checking too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] == "prism":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module


GRAPH = {name: sorted(set(imports(tree))) for name, tree in MODULES.items()}


def circle(graph: dict[str, list[str]]) -> list[str] | None:
    """A path of modules that ends where it begins, or None."""
    done: set[str] = set()

    def search(name: str, path: list[str]) -> list[str] | None:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        for other in graph[name]:
            if (found := search(other, [*path, name])) is not None:
                return found
        done.add(name)
        return None

    return next((found for name in graph if (found := search(name, [])) is not None), None)


def test_no_module_imports_itself_through_others():
    assert circle(GRAPH) is None


def test_a_circle_would_be_found():
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]


def package(name: str) -> str | None:
    """The part of the tree that a module belongs to; None for the package itself."""
    return name.split(".")[1] if "." in name else None


@pytest.mark.parametrize("layer", [name for layer in LAYERS for name in layer])
def test_packages_import_only_those_before_them(layer):
    level = {name: number for number, names in enumerate(LAYERS) for name in names}
    used = {(package(name), package(other)) for name, others in GRAPH.items() for other in others}
    wrong = {
        other
        for here, other in used
        if here == layer
        and other not in (None, layer)
        and level[other] >= level[layer]
        and (layer, other) not in BESIDE
    }
    assert not wrong


def test_every_package_has_its_place():
    assert {package(name) for name in MODULES} == {None, *[name for layer in LAYERS for name in layer]}


def calls_to_jax_random(tree: ast.Module, names: tuple[str, ...]) -> list[int]:
    """The lines in which one of these functions of `jax.random` is mentioned."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in names
        and ast.unparse(node.value) in ("jax.random", "random")
    ]


def test_keys_are_made_in_one_module():
    """`fold_in(k, i)` and `split(k, n)[i]` are the same key: only `numerics.keys` may call either."""
    makers = ("key", "PRNGKey", "split", "fold_in", "clone")
    found = {name: lines for name, tree in MODULES.items() if (lines := calls_to_jax_random(tree, makers))}
    assert set(found) == {"prism.numerics.keys"}


READING = {"read_bytes", "read_text", "loads", "load", "load_file", "loadtxt", "genfromtxt", "fromfile", "memmap"}
READING |= {"safe_open", "literal_eval", "open", "fdopen", "ZipFile", "LZMAFile"}
FORMATS = {"json", "csv", "pickle", "zipfile", "tarfile", "gzip", "bz2", "lzma", "zlib", "shelve", "configparser"}
FORMATS |= {"tomllib", "safetensors"}
READERS = {
    "prism.files.reading": "bytes and JSON",
    "prism.files.compression": "what was compressed",
    "prism.files.npy": "the headers of arrays",
    "prism.files.tables": "text, by NumPy",
    "prism.files.arrays": "safetensors",
    "prism.files.encoding": "writes JSON",
    "prism.files.storage": "writes",
    "prism.files.locks": "writes",
    "prism.numerics.memory": "what the system says in /proc",
    "prism.cli.process": "the null device, for streams that are closed",
    "prism.solution.export_numpy": "copied into exports, where it stands alone",
    "prism.eigen.export_numpy": "copied into exports, where it stands alone",
}
"""The modules that may open a file, or know its format, and for what."""


def reading_lines(tree: ast.Module) -> list[int]:
    """The lines in which a file is opened or parsed, by what that is called in every library in use."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [node.lineno for name in names if name.split(".")[0] in FORMATS]
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in READING:
            found.append(node.lineno)
        if isinstance(called, ast.Name) and called.id == "open":
            found.append(node.lineno)
    return found


def test_only_listed_modules_open_files():
    """What comes from outside is checked in one place, and no other opens a file."""
    assert {name for name, tree in MODULES.items() if reading_lines(tree)} == set(READERS)


@pytest.mark.parametrize(
    "code",
    ["open('a')", "path.open()", "Path('a').read_text()", "import json", "from json import loads", "np.load(path)"],
)
def test_a_reader_would_be_found(code):
    assert reading_lines(ast.parse(code)) == [1]
