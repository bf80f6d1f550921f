"""What holds of every study: table, finding and figure come from the measurements alone, as JSON keeps them."""

import io
import json

import pytest
from studies.measurements import MEASUREMENTS

from prism.cli import main
from prism.cli.bench import STUDIES
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


def drawn(study, measured) -> bytes:
    content = io.BytesIO()
    study.figure(measured).savefig(content, format="png", dpi=40)
    return content.getvalue()


def test_an_unknown_study_is_named(capsys):
    assert main(["bench", "nonsense"]) == 2
    assert "unknown study 'nonsense'; choose estimators, solvers, motivation" in capsys.readouterr().err
