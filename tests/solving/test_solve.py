"""`prism.solve` with a directory: what it leaves, how it goes on, what callbacks see, and what it says."""

import contextlib
import json
import shutil
import warnings

import jax.numpy as jnp
import pytest
from helpers import linear

import prism
from prism.reporting.records import RUN
from prism.solution.descriptions import build_architecture, describe_architecture
from prism.solution.training_record import TrainingRecord

SMALL = {"architecture": prism.Architecture(linear(3), 3, 2, 3, 1), "sampling": prism.Sampling(4, 4), "progress": False}


class Screened(prism.Family):
    """Δu − λu = 1 in the ball."""

    domain: prism.Ball
    parameters = prism.Uniform(lam=(0.0, 5.0))
    terms = {"lap": prism.Laplacian()}

    def residual(self, u, x, mu):
        return u.lap - mu.lam * u.value - 1.0

    def constraint(self):
        return prism.vanishing(self.domain)


FAMILY = Screened(prism.Ball(3))


def solve(**choices):
    """Such short runs may well end without a solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prism.NotSolved)
        return prism.solve(FAMILY, **SMALL, **choices)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A run of four steps in a directory, and the solution it gave."""
    out, seen = tmp_path_factory.mktemp("runs") / "run", []
    return out, solve(steps=4, out=out, callback=seen.append), seen


def test_the_directory_is_that_of_a_run(ended):
    out, solution, _ = ended
    names = {"config.json", "environment.json", "metrics.jsonl", "report.json", "plots", "checkpoints", "model"}
    assert {path.name for path in out.iterdir()} == {*names, ".prism.json"}
    assert RUN.holds(out)
    report = json.loads((out / "report.json").read_text())
    assert (report["family"], report["dim"], report["steps"]) == ("Screened", 3, 4)
    assert report["doubts"] == list(solution.training.doubts)
    assert {path.name for path in (out / "plots").iterdir()} == {"convergence.png", "slice.png"}
    loaded = prism.load(out, family=FAMILY)
    point = jnp.full(3, 0.1)
    assert loaded(point, lam=1.0) == solution(point, lam=1.0)


def test_a_callback_sees_what_the_history_keeps(ended):
    _, solution, seen = ended
    assert tuple(seen) == solution.history
    assert isinstance(seen[0], TrainingRecord)
    assert seen[-1].step == 4
    assert seen[-1].seconds > 0.0
    assert seen[-1].loss is not None


def test_a_run_goes_on_to_the_same_bits(ended, tmp_path):
    _, whole, _ = ended
    cut = solve(steps=4, out=tmp_path / "run", callback=lambda record: True)
    assert cut.history[-1].step < 4
    halves = solve(steps=4, resume=tmp_path / "run")
    assert [record.step for record in halves.history][-1] == 4
    point = jnp.full(3, 0.1)
    assert halves(point, lam=1.0) == whole(point, lam=1.0)


def test_a_spent_budget_ends_at_once(ended, capsys):
    out, solution, _ = ended
    with pytest.warns(prism.NotSolved) if solution.training.doubts else contextlib.nullcontext():
        again = prism.solve(FAMILY, **{**SMALL, "progress": True}, steps=4, resume=out)
    assert "the budget is spent: 4 steps" in capsys.readouterr().err
    point = jnp.full(3, 0.1)
    assert again(point, lam=1.0) == solution(point, lam=1.0)


REFUSED = {
    "in use": (lambda out: {"out": out}, "is in use; replace it with force=True"),
    "both": (lambda out: {"out": out, "resume": out}, "out and resume exclude each other"),
    "another estimator": (lambda out: {"resume": out, "estimator": prism.Exact()}, "estimator is Exact"),
    "another seed": (lambda out: {"resume": out, "seed": 3}, "seed is 3 here and 0 in the run"),
    "more of nothing": (lambda out: {"more_minutes": 1.0}, "more_minutes adds to a run that is resumed"),
    "no run": (lambda out: {"resume": out / "plots"}, "holds no run"),
}


@pytest.mark.parametrize(("choices", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(ended, choices, message):
    with pytest.raises(prism.InputError, match=message):
        solve(**choices(ended[0]))


def test_another_equation_is_refused(ended):
    class Screened(prism.Family):
        domain: prism.Ball
        parameters = prism.Uniform(lam=(0.0, 5.0))
        terms = {"lap": prism.Laplacian()}

        def residual(self, u, x, mu):
            return u.lap - mu.lam * u.value - 2.0

        def constraint(self):
            return prism.vanishing(self.domain)

    with pytest.raises(prism.InputError, match="another equation"):
        prism.solve(Screened(prism.Ball(3)), **SMALL, resume=ended[0], steps=9)
    with pytest.raises(prism.InputError, match="is not the equation that was solved"):
        prism.load(ended[0], family=Screened(prism.Ball(3)))


def test_an_architecture_is_the_same_after_it_was_stored():
    parts = prism.Sites(2, groups=((0, 1), (1, 2))) + prism.Norm()
    described = describe_architecture(prism.Architecture(parts))
    again = build_architecture(json.loads(json.dumps(described)))
    assert describe_architecture(again) == described


def test_a_failing_callback_keeps_what_was_trained(tmp_path):
    closed = []

    class Failing(prism.Callback):
        def __call__(self, record):
            raise RuntimeError("no connection")

        def close(self):
            closed.append(True)

    with pytest.raises(RuntimeError, match="no connection"):
        solve(steps=4, out=tmp_path / "run", callback=Failing())
    assert closed == [True]
    assert list((tmp_path / "run" / "checkpoints").iterdir()), "the state is saved"


def test_a_callback_ends_the_training():
    solution = solve(steps=1000, callback=lambda record: record.step >= 2)
    assert solution.history[-1].step < 1000


def test_an_untrained_network_is_not_called_a_solution():
    """A run so short that it ends above the trivial answer warns, in words of the project's own class."""
    with pytest.warns(
        prism.NotSolved, match="no better than the trivial answer|still .* % of that of predicting nothing"
    ):
        prism.solve(FAMILY, **{**SMALL, "optimiser": prism.Adam(rate=1e-9)}, steps=1)


def test_minutes_are_of_training_alone():
    """What compiles for seconds still makes steps in a hundredth of a minute."""
    solution = solve(minutes=0.01)
    assert solution.history[-1].step >= 1
    assert solution.history[0].seconds < 5.0, "the clock starts with the first step"


def test_it_describes_itself(ended):
    text = repr(ended[1])
    assert text.startswith("Solution of Screened in 3 dimensions, lam in [0, 5]")
    assert "trained for 4 steps" in text
    assert len(text.splitlines()) < 10


def test_fewer_steps_than_were_made_are_refused(ended):
    with pytest.raises(prism.InputError, match="a total of 3 steps is asked for and 4 were made; give a total of 4"):
        solve(steps=3, resume=ended[0])


def test_every_checkpoint_says_which_run_it_is_of(ended):
    config = json.loads((ended[0] / "config.json").read_text())
    (record,) = (ended[0] / "checkpoints").glob("*/record.json")
    kept = json.loads(record.read_text())
    assert kept["run"] == {name: value for name, value in config.items() if name not in ("steps", "minutes")}
    assert kept["parameters"] == {"law": "Uniform", "bounds": {"lam": [0.0, 5.0]}}


EDITED = {
    "another family": ({"family": "Heat"}, "says family = 'Heat', the run's checkpoints 'Screened'"),
    "another dimension": ({"dim": 4}, "says dim = 4, the run's checkpoints 3"),
    "another seed": ({"settings": {"seed": "7"}}, "says settings.seed = '7', the run's checkpoints '0'"),
    "another width": ({"architecture": {"width": 9}}, "says architecture.width = 9, the run's checkpoints 3"),
    "a malformed one": ({"steps": "4"}, "config.json is malformed .*in steps"),
}


@pytest.mark.parametrize(("changes", "message"), EDITED.values(), ids=EDITED)
def test_an_edited_run_is_refused_by_its_entry(ended, tmp_path, changes, message):
    run = shutil.copytree(ended[0], tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    config |= {name: {**config[name], **new} if isinstance(new, dict) else new for name, new in changes.items()}
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(prism.InputError, match=message):
        solve(steps=9, resume=run)


def test_other_parameters_are_refused_where_equations_cannot_be_compared(ended, tmp_path):
    """As with another version of JAX: config.json and checkpoints then say an equation that tells nothing."""
    run = shutil.copytree(ended[0], tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {"equation": "jax-9.9.9-float16:0"}))
    other = type("Screened", (Screened,), {"parameters": prism.Uniform(lam=(0.0, 6.0)), "__module__": __name__})
    with pytest.raises(
        prism.InputError, match=r"the parameters Uniform\(lam=\(0, 6\)\), what is stored was solved for"
    ):
        prism.solve(other(prism.Ball(3)), **SMALL, resume=run, steps=9)
