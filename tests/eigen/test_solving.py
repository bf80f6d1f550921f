"""`eigensolve` with a directory: what it leaves, how it goes on, what it says, what it refuses."""

import json
import os
import shutil
import signal
import warnings

import numpy as np
import pytest
from eigen.cases import FOUR, FOUR_MU, PLAIN, errors_of, weights_of

from prism import Adam
from prism.eigen.eigensolution import load_eigensolution
from prism.eigen.forms import Product, Sum, Train
from prism.eigen.network import FactorArchitecture
from prism.eigen.objective import EnergySampling
from prism.eigen.solving import eigensolve
from prism.errors import InputError, NotSolved, UnusableOutput
from prism.families.coupled_oscillator import CoupledOscillator
from prism.problem.parameters import Uniform
from prism.problem.potential import Potential
from prism.reporting.records import RUN

TINY = FactorArchitecture(width=3, depth=1, generator_width=3, generator_depth=1)
TWO = CoupledOscillator.create(2)
SAMPLING = EnergySampling(4, 2, nodes=12, block=2)
CHOICES = {"architecture": TINY, "sampling": SAMPLING, "progress": False}


def solve(potential: Potential = TWO, **choices):
    """Such short runs may well end without a solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSolved)
        return eigensolve(potential, **{**CHOICES, **choices})


# What a run leaves


def test_sixty_steps_are_right_to_four_digits(trained):
    """The relative error of λ at 64 held-out parameters, of a tiny network with shared weights in four dimensions."""
    found = errors_of(trained.solution)
    assert found.relative_l2 < 1e-4
    assert found.largest_error < 1e-4


def test_the_directory_is_that_of_a_run(trained):
    names = {"config.json", "environment.json", "metrics.jsonl", "report.json", "plots", "checkpoints", "model"}
    assert {path.name for path in trained.out.iterdir()} == {*names, ".prism.json"}
    assert RUN.holds(trained.out)
    report, found = json.loads((trained.out / "report.json").read_text()), errors_of(trained.solution)
    assert (report["family"], report["dim"], report["steps"]) == ("CoupledOscillator", 4, 60)
    assert report["relative_l2"] == found.relative_l2
    assert report["doubts"] == []
    assert len(report["by_parameter"]) == 64
    assert {path.stem for path in (trained.out / "plots").iterdir()} == {
        *("convergence", "densities", "error_over_parameters", "levels")
    }


def test_a_callback_sees_what_the_history_keeps(trained):
    assert tuple(trained.seen) == trained.solution.history
    assert trained.seen[-1].step == 60
    assert trained.seen[-1].loss is not None
    assert trained.seen[-1].skipped_steps == 0
    # Of a few held-out parameters, and others than those of the final measurement.
    assert trained.seen[-1].relative_l2 < 1e-3


# Going on


@pytest.fixture(scope="module")
def unbroken():
    """Six steps at once."""
    return solve(steps=6)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A run of six steps that Ctrl-C ended after the first chunk, and the solution that it gave."""
    out = tmp_path_factory.mktemp("interrupted") / "run"
    with pytest.warns(NotSolved, match=r"interrupted after \d+ steps, nothing was measured; the state is saved"):
        solution = eigensolve(
            TWO, **CHOICES, steps=6, out=out, callback=lambda record: os.kill(os.getpid(), signal.SIGINT)
        )
    return out, solution


def test_what_was_learned_until_an_interruption_is_given_back(interrupted):
    out, solution = interrupted
    assert solution.training.evaluation is None
    assert 0 < solution.history[-1].step < 6
    assert not (out / "report.json").exists()
    assert list((out / "checkpoints").iterdir())


def test_an_interrupted_run_goes_on_to_the_same_bits(interrupted, unbroken, tmp_path):
    """As one that was never interrupted: by steps, a run's bits do not depend on where it was cut."""
    run = shutil.copytree(interrupted[0], tmp_path / "run")
    halves = solve(resume=run)
    assert halves.history[-1].step == 6
    assert np.array_equal(weights_of(halves.network), weights_of(unbroken.network))
    assert not np.array_equal(weights_of(halves.network), weights_of(interrupted[1].network))
    loaded = load_eigensolution(run, TWO)
    assert np.array_equal(weights_of(loaded.network), weights_of(unbroken.network))


def test_an_interrupted_run_is_not_replaced_unasked(interrupted):
    """It could be resumed, and the refusal knows it."""
    with pytest.raises(UnusableOutput, match="is in use") as error:
        solve(steps=6, out=interrupted[0])
    assert error.value.resumable == interrupted[0]


def test_a_spent_budget_ends_at_once(trained, capsys):
    again = eigensolve(
        FOUR,
        levels=2,
        steps=60,
        architecture=trained.solution.settings.architecture,
        sampling=trained.solution.settings.sampling,
        resume=trained.out,
    )
    assert "the budget is spent: 60 steps" in capsys.readouterr().err
    assert np.array_equal(again(**FOUR_MU), trained.solution(**FOUR_MU))


def resumed(**choices):
    return lambda out: {"steps": 9, "resume": out, **choices}


REFUSED = {
    "in use": (lambda out: {"steps": 6, "out": out}, "is in use; replace it with force=True"),
    "both": (lambda out: {"out": out, "resume": out}, "out and resume exclude each other"),
    "force": (resumed(force=True), "resume and force exclude each other"),
    "another seed": (resumed(seed=3), "seed is 3 here and 0 in the run"),
    "another optimiser": (resumed(optimiser=Adam()), "optimiser is Adam"),
    "another sampling": (resumed(sampling=EnergySampling(5, 2)), "sampling is EnergySampling"),
    "another network": (resumed(architecture=FactorArchitecture(4)), "network is"),
    "other levels": (resumed(levels=2), "levels is 2 here and 1 in the run"),
    "another form": (resumed(form=Product(1)), "network is"),
    "other potential": (resumed(potential=CoupledOscillator.create(3)), "another potential"),
    "other parameters": (
        resumed(potential=CoupledOscillator.create(2, parameters=Uniform(mu1=(0.9, 1.2), mu2=(0.2, 0.72)))),
        "parameters",
    ),
    "more of nothing": (lambda out: {"more_minutes": 1.0}, "more_minutes adds to a run that is resumed"),
    "no run": (lambda out: {"resume": out / "checkpoints", "steps": 3}, "holds no run"),
    "no steps": (lambda out: {"steps": 0}, "steps"),
    "both budgets": (lambda out: {"steps": 3, "minutes": 1.0}, "give one of steps and minutes"),
    "a product of what interacts": (lambda out: {"potential": PLAIN, "levels": 2}, "2 levels"),
}


@pytest.mark.parametrize(("choices", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(interrupted, choices, message):
    """In one line, and before anything is compiled or written."""
    out = interrupted[0]
    before = sorted(path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file())
    with pytest.raises(InputError, match=message) as error:
        solve(**choices(out))
    assert "\n" not in str(error.value)
    assert sorted(path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()) == before


def test_fewer_steps_than_were_made_are_refused(trained):
    choices = {"architecture": trained.solution.settings.architecture, "sampling": trained.solution.settings.sampling}
    with pytest.raises(InputError, match="a total of 3 steps is asked for and 60 were made"):
        solve(FOUR, levels=2, steps=3, resume=trained.out, **choices)


def test_an_edited_run_is_refused_by_its_entry(interrupted, tmp_path):
    run = shutil.copytree(interrupted[0], tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "seed": 7}))
    with pytest.raises(InputError, match="says seed = 7, the run's checkpoints 0"):
        solve(steps=9, resume=run)


def test_a_run_of_the_command_line_is_not_resumed_from_python(interrupted, tmp_path):
    run = shutil.copytree(interrupted[0], tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "made_by": "prism solve"}))
    with pytest.raises(InputError, match=r"was not made by prism\.eigensolve"):
        solve(steps=9, resume=run)


# What it says


def test_a_network_that_hardly_learned_is_not_called_a_solution():
    with pytest.warns(NotSolved, match="no better than"):
        eigensolve(TWO, **CHOICES, optimiser=Adam(rate=1e-9), steps=1)


@pytest.mark.slow
def test_other_seeds_and_forms_are_trained_by_either_optimiser():
    """Below the energy of the untrained network, by Adam and by natural steps."""
    for form, optimiser in ((Sum(2), None), (Train(2), Adam(rate=1e-2))):
        sampling = EnergySampling(3, 2, nodes=24, block=3)
        solution = solve(PLAIN, form=form, optimiser=optimiser, sampling=sampling, steps=60, seed=3)
        found = errors_of(solution)
        assert found.lowest_excess > 0.0
        assert found.relative_l1 < 0.02


@pytest.mark.slow
def test_networks_of_their_own_are_trained():
    own = FactorArchitecture(width=4, depth=1, generator_width=4, generator_depth=1, shared=False)
    solution = solve(architecture=own, sampling=EnergySampling(2, 8, nodes=32, block=2), steps=150)
    assert errors_of(solution).relative_l1 < 5e-3


@pytest.mark.slow
def test_seeds_differ_and_repeat(unbroken):
    again, other = solve(steps=1, seed=0), solve(steps=1, seed=1)
    assert not np.array_equal(weights_of(again.network), weights_of(other.network))
    assert again.settings.seed == 0
