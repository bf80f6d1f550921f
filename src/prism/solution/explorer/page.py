"""One HTML file that holds a solution: content, style and script, nothing fetched from anywhere."""

import base64
import html
import importlib
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prism.errors import InputError
from prism.files.encoding import json_text
from prism.files.outputs import OutputFile
from prism.files.reading import Unreadable, read_bytes
from prism.numerics.texts import counted

ASSETS = Path(__file__).parent / "assets"
COMPUTING = ("network.js", "tables.js", "trust.js", "answers.js")
"""Scripts that need no browser; the tests run them in Node."""
SCRIPTS = (*COMPUTING, "drawing.js", "views.js", "controls.js", "figures.js", "page.js")
FORMAT = 1
"""Of the content: a script reads that of its own version."""
MARK, MARKED_WITHIN = b'<meta name="generator" content="prism explore">', 1_000
"""What tells a page from another file, and within how many of its first bytes."""
HEIGHT = 900
"""Pixels of the frame in a notebook."""


@dataclass(frozen=True, repr=False)
class Page:
    """A page of a solution: `page.save("solution.html")`; a notebook shows it."""

    content: Mapping[str, Any]

    def html(self) -> str:
        """The whole file."""
        if self.content["format"] != FORMAT:
            raise InputError("this page was made by another version of prism; make it again with prism explore")
        template = string.Template(_asset("page.html"))
        whole = {**self.content, "title": self.title, "colours": _colours()}
        return template.substitute(
            title=html.escape(self.title),
            equation=html.escape(str(self.content["equation"])),
            style=_asset("page.css"),
            script="\n".join(_asset(name) for name in SCRIPTS),
            content=json_text(whole).replace("<", "\\u003c"),
        )

    @property
    def title(self) -> str:
        dimension = self.content["dimension"]
        return f"{self.content['family']} in {counted(dimension, 'dimension')}"

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the file, whole or not at all; an earlier one is replaced only by `force`."""
        OutputFile.tried(Path(path), (), force).write(self.html().encode())

    def __repr__(self) -> str:
        return f"Page({self.title})"

    def _repr_html_(self) -> str:
        source, title = html.escape(self.html(), quote=True), html.escape(self.title)
        return f'<iframe srcdoc="{source}" width="100%" height="{HEIGHT}" style="border: 0" title="{title}"></iframe>'


def is_page(path: Path) -> bool:
    """Whether a file is one that a page was written to."""
    try:
        return MARK in read_bytes(path)[:MARKED_WITHIN]
    except Unreadable:
        return False


def _asset(name: str) -> str:
    return read_bytes(ASSETS / name).decode()


def _colours() -> dict[str, str]:
    """The colour maps of fields and of differences, as bytes of red, green and blue in base64."""
    colormaps = importlib.import_module("matplotlib").colormaps  # most programs draw none
    maps = {"sequential": "viridis", "diverging": "RdBu_r"}
    table = lambda name: np.round(255 * colormaps[name](np.linspace(0, 1, 256))[:, :3]).astype(np.uint8)
    return {purpose: base64.b64encode(table(name).tobytes()).decode() for purpose, name in maps.items()}
