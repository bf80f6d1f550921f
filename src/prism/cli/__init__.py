"""The command `prism`: the only place that maps names to objects. JAX is imported by a command, not by --help."""

import sys
import warnings
from collections.abc import Sequence

from prism.cli.parser import build_parser
from prism.errors import CorruptedFile, InputError, PrismError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 2 bad input, 1 failed, 130 or 143 interrupted."""
    warnings.showwarning = lambda message, *_, **__: print(f"prism: warning: {message}", file=sys.stderr)
    options = build_parser().parse_args(arguments)
    try:
        return options.run(options)
    except (InputError, CorruptedFile) as error:
        print(f"prism: error: {error}", file=sys.stderr)
        return 2
    except (PrismError, OSError) as error:
        print(f"prism: failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("prism: interrupted", file=sys.stderr)
        return 130
