"""`prism bench NAME`: one study, its table, figure and JSON."""

import argparse
import io
import json
import time
from pathlib import Path

from prism.cli.names import lookup
from prism.cli.solve import say
from prism.errors import InputError
from prism.reporting.records import environment
from prism.storage import write_file
from prism.studies import estimators, solvers, trust
from prism.studies.trials import markdown

STUDIES = {"estimators": estimators, "solvers": solvers, "trust": trust}


def run(options: argparse.Namespace) -> int:
    study = lookup("study", STUDIES, getattr(options, "name", None) or "none given")
    full = getattr(options, "full", False)
    out = Path(getattr(options, "out", None) or f"runs/bench-{options.name}{'-full' if full else ''}")
    if out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {out}: it is a file; choose another --out")
    begun = time.perf_counter()
    rows = study.study(full, say)
    record = {
        "study": options.name,
        "full": full,
        "seconds": time.perf_counter() - begun,
        "rows": rows,
        "environment": environment(),
        "out": str(out),
    }
    out.mkdir(parents=True, exist_ok=True)
    table = markdown(study.summary(rows) if hasattr(study, "summary") else rows)
    picture = io.BytesIO()
    study.figure(rows).savefig(picture, format="png", dpi=120)
    write_file(out / "results.json", (json.dumps(record, indent=1) + "\n").encode())
    write_file(out / "table.md", (table + "\n").encode())
    write_file(out / "figure.png", picture.getvalue())
    if getattr(options, "json", False):
        say(table)
        print(json.dumps(record))
    else:
        print(f"{table}\n\nfigure and results are in {out}")
    return 0
