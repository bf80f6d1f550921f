"""Pages of the site that are made from other files: home, examples, reference, contributing, changelog, and explorer
pages of solutions from what `benchmarks/pages.py` kept of them.

The reference follows src/prism/__init__.pyi, the one list of public names: a section for each package it names, in its
order, opened by the package's own docstring.
"""

import ast
import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from prism.solution.explorer.page import Page

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "prism"
LINKS = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "https://www.apache.org/licenses/LICENSE-2.0",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by MkDocs once it knows the files of docs/."""
    pages = {
        "index.md": at_home(read("README.md")),
        "contributing.md": at_home(read("CONTRIBUTING.md")),
        "changelog.md": at_home(read("CHANGELOG.md")),
        "examples.md": examples(),
        "reference.md": reference(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "docs" / "pages").glob("*.json")):
        page = Page(json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"explore/{path.stem}.html", content=page.html()))
    return files


def on_page_markdown(markdown: str, **_) -> str:
    """Links of a guide to the examples lead to their page."""
    return example_links(markdown)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def at_home(text: str) -> str:
    """A document of the repository's root, with the links that hold inside the site."""
    text = text.replace("](docs/", "](")
    for name, page in LINKS.items():
        text = text.replace(f"]({name})", f"]({page})")
    return example_links(text)


def example_links(text: str) -> str:
    """`examples/own_pde.py` is a section of the page of examples."""
    text = re.sub(r"\]\((?:\.\./)?examples/(\w+)\.(?:py|ipynb)\)", r"](examples.md#\1)", text)
    return re.sub(r"\]\((?:\.\./)?examples\)", "](examples.md)", text)


def examples() -> str:
    """Every example as it stands."""
    sections = ["# Examples"]
    for path in sorted((ROOT / "examples").glob("*.py")):
        sections.append(f"## `examples/{path.name}` {{ #{path.stem} }}\n\n```python\n{path.read_text()}```")
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        sections.append(f"## `examples/{path.name}` {{ #{path.stem} }}\n\n{notebook(json.loads(path.read_text()))}")
    return "\n\n".join(sections) + "\n"


def notebook(content: dict) -> str:
    """The words and the code of a notebook; its outputs are seen where it is opened."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in content["cells"]]
    below = lambda text: re.sub(r"^#", "##", text, flags=re.MULTILINE)
    return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else below(text) for kind, text in cells)


def public_names() -> dict[str, list[str]]:
    """The public names by the package that defines them, as the stub lists both."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    names: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names.setdefault(node.module.split(".")[0], []).extend(alias.asname or alias.name for alias in node.names)
    return names


def reference() -> str:
    """One section for each package of the stub."""
    parts = [
        "# Reference",
        "Everything that `import prism` gives, in the order of the pipeline: from the problem to what can be done with "
        "its solution.",
    ]
    for package, names in public_names().items():
        parts += [f"## {package.capitalize()}", purpose(package), *(f"::: prism.{name}" for name in names)]
    return "\n\n".join(parts) + "\n"


def purpose(package: str) -> str:
    """The first paragraph of its docstring."""
    folder = PACKAGE / package
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n\n")[0]
