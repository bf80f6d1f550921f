"""Tables and figures of the documents, made from the results that benchmarks and studies left as JSON.

    python benchmarks/tables.py            writes them
    python benchmarks/tables.py --check    names what is out of date or has no results, and ends with 1 if anything is

A document holds `<!-- table: NAME -->`, the table and `<!-- end -->`; NAME is a key of TABLES below, or a study, whose
`prism bench NAME` left results/studies/NAME.json. A table whose results are not there is left as it is.
"""

import argparse
import hashlib
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from prism.cli.bench import STUDIES
from prism.studies.trials import markdown

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
WIDTH = 100
"""Of a line of text in the documents."""
TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(\n<!-- end -->)", re.DOTALL)
VARIANTS = {"jet": "(a) one-hot jet", "none": "(b) none", "film": "(c) film", "concat": "(d) concat"}

PAIRS = {None: "", "random": ", random pairs", "all": ", exchangeable", "none": ", radial"}

Row = dict[str, Any]


def accuracy(records: Iterable[Row]) -> str:
    """One line for each job of accuracy.py: seed 0, the skill also as its range over seeds."""
    return markdown([_accuracy_row(group) for group in _over_seeds(records)])


def accuracy_of_estimators(records: Sequence[Row]) -> str:
    """What was solved with an estimator by name, beside the same problems with the default's."""
    problem = lambda record: tuple(record["job"][name] for name in ("family", "dim", "scaled", "minutes", "optimiser"))
    named = {problem(record) for record in records if record["job"].get("estimator") is not None}
    groups = _over_seeds(record for record in records if problem(record) in named)
    return markdown([{"estimator": group[0]["estimator"], **_accuracy_row(group)} for group in groups])


def accuracy_summary(records: Iterable[Row]) -> str:
    """Error and skill of the default solver at each dimension, for the longest time measured there."""
    chosen = [group for group in _over_seeds(records) if group[0]["job"]["optimiser"] == "spring"]
    chosen = [group for group in chosen if not group[0]["job"]["scaled"]]
    lines: dict[int, Row] = {}
    for group in sorted(chosen, key=lambda group: (group[0]["job"]["dim"], -group[0]["job"]["minutes"])):
        job = group[0]["job"]
        line = lines.setdefault(job["dim"], {"dimensions": job["dim"], "minutes": job["minutes"]})
        if line["minutes"] == job["minutes"]:
            line[f"{job['family']}, error"] = f"{group[0]['relative_l2']:.1e}"
            line[f"{job['family']}, skill"] = _skill(group)
    return markdown(list(lines.values()))


def _over_seeds(records: Iterable[Row]) -> list[list[Row]]:
    """The records of each job, seed 0 first, in the order of dimension, problem and time."""
    groups: dict[tuple, list[Row]] = {}
    for record in sorted(records, key=lambda record: record["job"]["seed"]):
        job = record["job"]
        named = tuple(job.get(name) or "" for name in ("estimator", "pairs", "lift"))
        key = (job["dim"], job["scaled"], job["family"], job["minutes"], job["optimiser"], *named)
        groups.setdefault(key, []).append(record)
    return [groups[key] for key in sorted(groups)]


def _accuracy_row(group: Sequence[Row]) -> Row:
    first, job = group[0], group[0]["job"]
    errors = {"relative L2": "relative_l2", "trivial": "trivial_error", "μ-blind": "mu_blind_error"}
    affine = first.get("affine_error")
    return {
        "family": job["family"] + (", scaled" if job["scaled"] else "") + PAIRS[job.get("pairs")],
        "d": job["dim"],
        "optimiser": job["optimiser"],
        "lift": first.get("lift"),
        "minutes": job["minutes"],
        "steps": first["steps"],
        **{title: f"{first[name]:.2e}" for title, name in errors.items()},
        "affine": None if affine is None else f"{affine:.2e}",
        "skill": _skill(group),
        "seeds": " ".join(str(record["job"]["seed"]) for record in group),
        "peak MB": round(first["peak_rss_mb"]),
    }


def _skill(group: Sequence[Row]) -> str:
    skills = [record["skill"] for record in group]
    return f"{skills[0]:.2g}" + (f" ({min(skills):.2g} to {max(skills):.2g})" if len(skills) > 1 else "")


HIGH_ORDER = ("kdv2d", "kp", "gkdv", "biharmonic")


def _is_elliptic(record: Row) -> bool:
    """Whether it is one of the two-body families of second order, which know an affine answer, with defaults."""
    named = any(record["job"].get(name) is not None for name in ("estimator", "lift", "pairs"))
    return record.get("affine_error") is not None and not named and not _is_of_high_order(record)


def _has_named_lift(record: Row) -> bool:
    named = any(record["job"].get(name) is not None for name in ("lift", "pairs"))
    return named and not _is_of_high_order(record)


def _is_in_time(record: Row) -> bool:
    return record.get("affine_error") is None and not _is_of_high_order(record)


def _is_of_high_order(record: Row) -> bool:
    return record["job"]["family"] in HIGH_ORDER


def fine_tuning(record: Row) -> str:
    """Errors before and after at each μ, and their root mean squares over all of them."""
    names = ("tuned", "μ", "zero-shot", "after", "ratio", "unknowns", "steps", "seconds")
    lines: list[Row] = []
    for tuned in dict.fromkeys(row["tuned"] for row in record["rows"]):
        here = [row for row in record["rows"] if row["tuned"] == tuned]
        before, after = (float(np.sqrt(np.mean([row[name] ** 2 for row in here]))) for name in ("zero-shot", "after"))
        whole = {"tuned": tuned, "μ": "all (rms)", "zero-shot": before, "after": after, "ratio": before / after}
        lines += [{name: row.get(name) for name in names} for row in (*here, whole)]
    return markdown(lines)


def fine_tuning_steps(record: Row) -> str:
    """Seconds per step at a low and a high dimension."""
    shown = [{name.replace(" a ", " per "): row[name] for name in row if name != "rounds"} for row in record["steps"]]
    return markdown(shown)


def step_time(record: Row) -> str:
    """Speed of a training step beside the reference implementation."""
    return markdown(
        [
            {
                "d": row["dim"],
                "variant": VARIANTS[row["variant"]],
                "steps/s": row["steps_per_second"],
                "speed against (a)": f"{row['speed_against_jet']:.2f}",
                "time against (b)": f"{row['time_against_none']:.2f}",
                "MFLOP per step": round(row["flops"] / 1e6),
                "compiled MB": round(row["compiled_mb"]),
                "peak MB": round(row["peak_rss_mb"]),
            }
            for row in record["rows"]
        ]
    )


def time_networks(records: Iterable[Row]) -> str:
    """Convection with one change to the default network at a time."""
    titles = {"steps": "steps", "seconds_per_step": "seconds per step", "relative_l2": "relative L2"}
    titles |= {"trivial_error": "trivial", "mu_blind_error": "μ-blind", "skill": "skill"}
    return markdown(
        [
            {"network": row["network"], "minutes": record["minutes"], **{titles[name]: row[name] for name in titles}}
            for record in sorted(records, key=lambda record: record["minutes"])
            for row in record["rows"]
        ]
    )


def start_time(rows: Iterable[Row]) -> str:
    """Seconds from the command to the first step."""
    return markdown(
        [
            {
                "command": f"`{row['command']}`",
                "version": row["version"],
                "first process, s": f"{row['first']:.1f}",
                "second process, s": f"{row['second']:.1f}",
            }
            for row in rows
        ]
    )


def typed_in_heat(records: Iterable[Row]) -> str:
    """The heat equation of typed_in.py under the default law of points."""
    titles = {"relative_l2": "relative L2", "trivial": "trivial", "mu_blind": "μ-blind"}
    return markdown(
        [_job_columns(one) | {titles[name]: one[name] for name in titles} for one in _typed(records, "heat")]
    )


def typed_in_control(records: Iterable[Row]) -> str:
    """The control problem of typed_in.py by the law of the points that it is trained on."""
    answers = {"": "", "_mu_blind": ", ignores λ", "_limit": ", large-d limit"}
    places = {"typical": "worst of ten typical points", "origin": "worst at x = 0"}
    columns = {f"{place}{key}": f"{places[place]}{answers[key]}" for place in places for key in answers}
    lines = [
        _job_columns(one) | {"points to train on": one["job"]["law"]} | {columns[name]: one[name] for name in columns}
        for one in _typed(records, "control")
    ]
    return markdown(lines)


def _typed(records: Iterable[Row], problem: str) -> list[Row]:
    """Those of one problem, in the order of dimension, law and seed."""
    chosen = [record for record in records if record["job"]["problem"] == problem]
    return sorted(chosen, key=lambda record: tuple(record["job"][name] for name in ("dim", "law", "seed", "minutes")))


def _job_columns(record: Row) -> Row:
    return {"d": record["job"]["dim"], "minutes": record["job"]["minutes"], "seed": record["job"]["seed"]}


FAULTS = {
    "kills": "a run killed (SIGKILL) at a random moment ends with the bits of an undisturbed one",
    "flipped bits": "a flipped bit in a file of a run is found, or changes nothing",
    "malformed inputs": "a malformed call, file or family is refused in one line",
    "signals": "SIGTERM or Ctrl-C, once or twice: exit 143 or 130, and the run goes on",
    "full disks": "a disk that becomes full is told in one line; with room, the call succeeds",
    "directories for reading": "a place that may not be written is refused",
    "directories that vanish": "a directory removed during a run is told in one line",
    "two runs in one directory": "the second run is refused, the first ends as if alone",
}


def reliability(parts: Mapping[str, Row]) -> str:
    """One line for each kind of fault: how often it was tried, and how often the promise held."""
    known = [name for name in FAULTS if name in parts]
    rows = [{"promise": FAULTS[name], "tried": parts[name]["tried"], "held": parts[name]["held"]} for name in known]
    return markdown(rows)


def reliability_details(parts: Mapping[str, Row]) -> str:
    """The counts behind that table."""
    kills, flips, malformed = (parts[name] for name in ("kills", "flipped bits", "malformed inputs"))
    found = {
        "kills while a checkpoint was written": kills["while a checkpoint was written"],
        **{f"flipped bits: {name}": flips[name] for name in sorted(flips) if "hashed" in name},
        **{f"malformed inputs: {name}": count for name, count in malformed["faults"].items()},
    }
    return markdown([{"what": name, "found": value} for name, value in found.items()])


def guard_costs(parts: Mapping[str, Row]) -> str:
    """What the guard adds to a step, and the checks of a family to a start."""
    share = lambda one: f"{100 * one['share of a step']:.1f} % ± {100 * one['standard error']:.1f} %"
    steps = {
        f"guard, a step of {1e3 * one['seconds per step']:.1f} ms, {name}": (share(one), "2 %")
        for name, one in parts["guards"]["steps"].items()
    }
    starts = {
        f"checks, {name}, {when}": (f"{one[f'seconds of {kind} checks']:.2f} s", "1 s")
        for name, one in parts["guards"]["starts"].items()
        for when, kind in (("the first time", "first"), ("passed before", "later"))
    }
    rows = [{"what": name, "cost": cost, "limit": limit} for name, (cost, limit) in {**steps, **starts}.items()]
    return markdown(rows)


def explore(record: Row) -> str:
    """One line for each page of explore.py."""
    return markdown(
        [
            {
                "family": f"{row['family']}, {row['dimension']:,} D",
                "page": f"{row['bytes'] / 1000:,.0f} kB",
                "from the live solution": f"{row['difference_from_live']:.0e}",
                "in double precision": f"{row['difference_in_double_precision']:.0e}",
                "slider to field": f"{row['milliseconds']:.0f} ms",
            }
            for row in record["rows"]
        ]
    )


def study(name: str, record: Row) -> str:
    """The table and the finding of `prism bench NAME`, with the command."""
    known, rows = STUDIES[name], record["rows"]
    command = f"`prism bench {name}{' --full' if record['full'] else ''}`."
    finding = known.finding(rows) if known.finding else ""
    text = textwrap.fill(f"{command} {finding}".strip(), WIDTH, break_on_hyphens=False, break_long_words=False)
    return f"{markdown(known.summary(rows))}\n\n{text}"


TABLES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "accuracy": ("accuracy.json", lambda records: accuracy(filter(_is_elliptic, records))),
    "accuracy-summary": ("accuracy.json", lambda records: accuracy_summary(filter(_is_elliptic, records))),
    "accuracy-estimators": ("accuracy_estimators.json", accuracy_of_estimators),
    "accuracy-lifts": ("accuracy.json", lambda records: accuracy(filter(_has_named_lift, records))),
    "accuracy-time": ("accuracy.json", lambda records: accuracy(filter(_is_in_time, records))),
    "accuracy-high-order": ("accuracy.json", lambda records: accuracy(filter(_is_of_high_order, records))),
    "fine-tuning": ("fine_tuning.json", fine_tuning),
    "fine-tuning-steps": ("fine_tuning.json", fine_tuning_steps),
    "step-time": ("step_time.json", step_time),
    "time-networks": ("time_networks*.json", time_networks),
    "start-time": ("start_time.json", start_time),
    "typed-in-heat": ("typed_in.json", typed_in_heat),
    "typed-in-control": ("typed_in.json", typed_in_control),
    "kink": ("kink.json", markdown),
    "wave-conditions": ("wave_conditions.json", markdown),
    "basket": ("basket.json", markdown),
    "explore": ("explore.json", explore),
    "reliability": ("reliability.json", reliability),
    "reliability-details": ("reliability.json", reliability_details),
    "reliability-guards": ("reliability.json", guard_costs),
}
"""Where its results are, and what is made of them; of several files their contents are a list."""


def table(name: str) -> str:
    """The table of this name; empty where there are no results for it."""
    if name not in TABLES and name not in STUDIES:
        raise SystemExit(f"no table is called {name}; there are {', '.join([*TABLES, *STUDIES])}")
    pattern, make = TABLES.get(name) or (f"studies/{name}.json", lambda record: study(name, record))
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob(pattern))]
    if not found:
        return ""
    return make(found if "*" in pattern else found[0])


def stale_figures() -> list[str]:
    """The studies whose results are not those that their figure was drawn from: it keeps their hash."""
    stale = []
    for name in STUDIES:
        results, figure = RESULTS / "studies" / f"{name}.json", ROOT / "docs" / "figures" / f"{name}.png"
        if results.exists() and not (figure.exists() and _text_of(figure).get("Comment") == _hash(results)):
            stale.append(name)
    return stale


def draw_figure(name: str) -> None:
    results, figure = RESULTS / "studies" / f"{name}.json", ROOT / "docs" / "figures" / f"{name}.png"
    figure.parent.mkdir(exist_ok=True)
    drawn = STUDIES[name].figure(json.loads(results.read_text(encoding="utf-8"))["rows"])
    drawn.savefig(figure, dpi=120, metadata={"Comment": _hash(results)})


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _text_of(figure: Path) -> dict[str, str]:
    with Image.open(figure) as image:
        return dict(getattr(image, "text", {}))


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def renewed(text: str) -> str:
    """The document with every table made anew."""

    def replacement(match: re.Match[str]) -> str:
        made = table(match[2])
        return f"{match[1]}\n{made}\n{match[3]}" if made else match[0]

    return TABLE.sub(replacement, text)


def without_results(text: str) -> list[str]:
    """The tables of a document that nothing stands behind."""
    return [name for _, name, _ in TABLE.findall(text) if not table(name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    stale, lacking = [f"figures/{name}.png" for name in stale_figures()], []
    if not options.check:
        for name in stale_figures():
            draw_figure(name)
    for path in documents():
        text = path.read_text(encoding="utf-8")
        lacking += without_results(text)
        if (new := renewed(text)) != text:
            stale.append(str(path.relative_to(ROOT)))
            if not options.check:
                path.write_text(new, encoding="utf-8")
    if lacking:
        print(f"there are no results for {', '.join(lacking)}; measure them, or take the table out", file=sys.stderr)
    if options.check and stale:
        print(f"out of date: {', '.join(stale)}; run python benchmarks/tables.py", file=sys.stderr)
    return int(options.check and bool(stale or lacking))


if __name__ == "__main__":
    sys.exit(main())
