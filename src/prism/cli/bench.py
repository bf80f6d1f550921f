"""`prism bench NAME`: one study, its table, figure, finding and JSON."""

import argparse
import io
import json
import time
from pathlib import Path

from prism.cli.names import lookup
from prism.cli.solve import say
from prism.errors import InputError
from prism.files.storage import write_file
from prism.reporting.records import environment
from prism.studies import (
    decoupling,
    estimators,
    inversion,
    modulation,
    motivation,
    sampling,
    solvers,
    transfer,
    trust,
    variance,
)
from prism.studies.trials import Study, markdown

STUDIES: dict[str, Study] = {
    "estimators": estimators.STUDY,
    "solvers": solvers.STUDY,
    "motivation": motivation.STUDY,
    "sampling": sampling.STUDY,
    "transfer": transfer.STUDY,
    "variance": variance.STUDY,
    "decoupling": decoupling.STUDY,
    "modulation": modulation.STUDY,
    "trust": trust.STUDY,
    "inversion": inversion.STUDY,
}


def run(options: argparse.Namespace) -> int:
    study = lookup("study", STUDIES, getattr(options, "name", None) or "none given")
    full = getattr(options, "full", False)
    out = Path(getattr(options, "out", None) or f"runs/bench-{options.name}{'-full' if full else ''}")
    if out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {out}: it is a file; choose another --out")
    begun = time.perf_counter()
    rows = study.run(full, say)
    finding = study.finding(rows) if study.finding else None
    record = {
        "study": options.name,
        "full": full,
        "seconds": time.perf_counter() - begun,
        "finding": finding,
        "rows": rows,
        "environment": environment(),
        "out": str(out),
    }
    text = "\n\n".join(part for part in (markdown(study.summary(rows)), finding) if part)
    out.mkdir(parents=True, exist_ok=True)
    picture = io.BytesIO()
    study.figure(rows).savefig(picture, format="png", dpi=120)
    write_file(out / "results.json", (json.dumps(record, indent=1) + "\n").encode())
    write_file(out / "table.md", (text + "\n").encode())
    write_file(out / "figure.png", picture.getvalue())
    if getattr(options, "json", False):
        say(text)
        print(json.dumps(record))
    else:
        print(f"{text}\n\nfigure and results are in {out}")
    return 0
