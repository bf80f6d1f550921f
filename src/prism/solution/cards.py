"""What a notebook shows of a solution: its family, its numbers and a picture, without a script."""

import base64
import html
from collections.abc import Sequence

STYLE = "display:flex;gap:1em;align-items:flex-start;flex-wrap:wrap"


def card(title: str, lines: Sequence[str], picture: bytes) -> str:
    """HTML that stands by itself."""
    told = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    image = base64.b64encode(picture).decode()
    return (
        f'<div style="{STYLE}"><img alt="a slice of {html.escape(title)}" width="260" '
        f'src="data:image/png;base64,{image}"><div><strong>{html.escape(title)}</strong>'
        f'<ul style="margin:0.3em 0;padding-left:1.2em">{told}</ul></div></div>'
    )
