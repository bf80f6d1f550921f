"""`prism explore`: a finished run as one HTML page, or served to this machine."""

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from prism.cli.loading import holds_levels, read_run, solution_of
from prism.cli.speech import answer, say
from prism.cli.trust import kept_calibration
from prism.errors import InputError
from prism.files.outputs import OutputFile
from prism.files.reading import Unreadable, read_json
from prism.reporting.records import RUN
from prism.solution.explorer.content import explored, subspace_content
from prism.solution.explorer.page import Page
from prism.solution.explorer.server import PageServer
from prism.solution.explorer.subject import Subject
from prism.solution.solution import Solution


def run(options: argparse.Namespace, output: OutputFile | None) -> int:
    if holds_levels(options):
        raise InputError(
            f"{options.run_directory} holds the levels of a potential, which have no field; ask prism predict"
        )
    if options.port and not options.serve:
        raise InputError("--port is that of a page that is served; give --serve too")
    path = Path(options.run_directory)
    solution = solution_of(read_run(path), path, getattr(options, "family", None))
    with PageServer(options.port) if options.serve else contextlib.nullcontext() as server:
        page = page_of(solution, path, options.coordinates, options.serve)
        alone = replace(page, content={**page.content, "served": False})
        report = {"out": None} if output is None else write_page(alone, output)
        report |= {"coordinates": [one["name"] for one in page.content["slices"]["coordinates"]]}
        answer(report, [] if output is None else [f"open {report['out']} in a browser"], options.json)
        if server is not None:
            say(f"serving {server.address} to this machine until Ctrl-C")
            subject = Subject(solution.model, solution.family, solution.limits)
            server.offer(page.html(), lambda names: subspace_content(subject, names))
    return 0


def page_of(solution: Solution, path: Path, names: Sequence[str] | None, served: bool = False) -> Page:
    """The page of a run, with the trust that it keeps."""
    subject, remarks = Subject(solution.model, solution.family, solution.limits), solution.describe()
    calibrate = lambda: kept_calibration(path, solution)
    return explored(subject, calibrate, names, [*remarks, *measured_errors(path)], served=served)


def write_page(page: Page, output: OutputFile) -> dict[str, object]:
    """The file, and what there is to report of it."""
    whole = page.html().encode()
    output.write(whole)
    return {"out": str(output.path), "bytes": len(whole)}


def measured_errors(path: Path) -> list[str]:
    """The errors that a run measured, in a line; nothing where it has none."""
    report: Mapping[str, object] = {}
    if RUN.holds(path):
        with contextlib.suppress(Unreadable):
            report = read_json(path / "report.json", dict)
    names = {
        "relative_l2": "relative L2 error",
        "trivial_error": "trivial",
        "mu_blind_error": "μ-blind",
        "skill": "skill",
        "residual": "held-out residual",
    }
    told = [f"{words} {value:.2g}" for name, words in names.items() if isinstance(value := report.get(name), float)]
    seconds = report.get("seconds")
    trained = f" after {seconds:.0f} s of training" if isinstance(seconds, float) else ""
    return [f"measured at the end of the run{trained}: {', '.join(told)}"] if told else []
