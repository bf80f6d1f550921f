"""What holds of every study: table, finding and figure come from the measurements alone, as JSON keeps them."""

import io
import json
from pathlib import Path

import pytest
from studies.measurements import MEASUREMENTS

from prism.cli import main
from prism.cli.bench import STUDIES, durations
from prism.studies.trials import markdown


def test_every_study_has_synthetic_measurements():
    assert set(MEASUREMENTS) == set(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_table_finding_and_figure_can_be_made_again_from_json(name):
    """Whether `run` fills these columns is left to the slow test of each study, which runs it."""
    study, measured = STUDIES[name], MEASUREMENTS[name]()
    read = json.loads(json.dumps(measured))
    assert markdown(study.summary(read)) == markdown(study.summary(measured)) != ""
    if study.finding is not None:
        assert study.finding(read) == study.finding(measured)
    assert drawn(study, read) == drawn(study, measured)


RECORDED = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "studies"


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_takes_about_as_long_as_planned(name):
    """Within a fifth of what was recorded for the documents; the reduced study is never the longer one."""
    study, record = STUDIES[name], json.loads((RECORDED / f"{name}.json").read_text())
    assert sum(study.plan(record["full"])) == pytest.approx(record["seconds"], rel=0.2)
    assert sum(study.plan(False)) < sum(study.plan(True))
    assert "about " in durations(study)
    assert ", with --full " in durations(study)


@pytest.mark.parametrize("name", ["blocks", "structure"])
def test_every_run_is_a_planned_piece(name):
    """Of the studies that are too long to be run here: one measurement for each piece."""
    record = json.loads((RECORDED / f"{name}.json").read_text())
    assert len(STUDIES[name].plan(record["full"])) == len(record["rows"])


def drawn(study, measured) -> bytes:
    content = io.BytesIO()
    study.figure(measured).savefig(content, format="png", dpi=40)
    return content.getvalue()


def test_an_unknown_study_is_named(capsys):
    assert main(["bench", "nonsense"]) == 2
    assert "unknown study 'nonsense'; choose estimators, solvers, motivation" in capsys.readouterr().err
