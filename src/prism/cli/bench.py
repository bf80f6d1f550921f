"""`prism bench NAME`: one study, its table, figure, finding and JSON."""

import argparse
import io
import time

from prism.cli.names import lookup
from prism.cli.speech import answer, say
from prism.files.encoding import json_text
from prism.files.outputs import ResultDirectory
from prism.reporting.countdown import Countdown, duration
from prism.reporting.records import environment
from prism.studies import (
    blocks,
    decoupling,
    estimators,
    gpinn,
    high_order,
    hjb,
    inversion,
    modulation,
    motivation,
    oscillator,
    parabolic,
    sampling,
    solvers,
    structure,
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
    "structure": structure.STUDY,
    "blocks": blocks.STUDY,
    "parabolic": parabolic.STUDY,
    "hjb": hjb.STUDY,
    "high-order": high_order.STUDY,
    "gpinn": gpinn.STUDY,
    "oscillator": oscillator.STUDY,
}


def durations(study: Study) -> str:
    """About how long a study takes, as it is and with --full."""
    return f"about {duration(sum(study.plan(False)))}, with --full {duration(sum(study.plan(True)))}"


def run(options: argparse.Namespace, directory: ResultDirectory) -> int:
    study = lookup("study", STUDIES, options.name)
    begun, plan = time.perf_counter(), study.plan(options.full)
    say(f"{options.name}: {len(plan)} pieces of work, about {duration(sum(plan))} on two cores")
    rows = study.run(options.full, Countdown(plan, say))
    finding = study.finding(rows) if study.finding else None
    record = {
        "study": options.name,
        "full": options.full,
        "seconds": time.perf_counter() - begun,
        "finding": finding,
        "rows": rows,
        "environment": environment(),
        "out": str(directory.path),
    }
    text = "\n\n".join(part for part in (markdown(study.summary(rows)), finding) if part)
    picture = io.BytesIO()
    study.figure(rows).savefig(picture, format="png", dpi=120)
    directory.begin()
    directory.write("results.json", (json_text(record, indent=1) + "\n").encode())
    directory.write("table.md", (text + "\n").encode())
    directory.write("figure.png", picture.getvalue())
    answer(record, [text, "", f"figure and results are in {directory.path}"], options.json)
    return 0
