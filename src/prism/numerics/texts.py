"""Texts cut to what fits into one line of an error, and nouns with their numbers."""


def shortened(text: object, most: int) -> str:
    """One line of the text, without its middle where that is longer than `most` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[-most // 2 :]}"


def counted(number: int, noun: str) -> str:
    """1 dimension, 5,000 dimensions."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
