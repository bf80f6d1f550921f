"""Texts of any length, cut to what fits into one line of an error."""


def shortened(text: object, most: int) -> str:
    """One line of the text, without its middle where that is longer than `most` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[-most // 2 :]}"
