"""The command: what it writes, what it says, and that a mistake costs one clear line and nothing else."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from cli.runs import Ran, check_refusal, latest, prism

from prism.cli.calls import in_options
from prism.cli.names import estimator_text, parse_estimator
from prism.cli.options import SolveOptions
from prism.derivatives.estimators import Rademacher
from prism.errors import Proposal, TooLarge, UnusableOutput
from prism.files.marks import MARK
from prism.networks.lifts.parts import Affine, Dense
from prism.objective.batches import Sampling
from prism.reporting.records import RUN
from prism.solving import refusals
from prism.training import program

SIZE = ["--width", "8", "--lift", "dense:8+affine:4", "--depth", "2", "--points", "4"]
TINY = ["--dim", "6", *SIZE]
SIMPLE = ["--depth", "1", "--modulation", "none"]  # compiles in half the time
KEYS = {
    *("family", "dim", "seed", "optimiser", "estimator", "modulation", "steps", "seconds", "seconds_per_step"),
    *(
        "pairs_per_second",
        "peak_rss_mb",
        "relative_l2",
        "relative_l1",
        "trivial_error",
        "mu_blind_error",
        "skill",
        "out",
    ),
}


def prism_process(*arguments: object, python: tuple[str, ...] = ("-m", "prism.cli")) -> Ran:
    """The command as a process of its own, as people run it."""
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, *python, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": source, "XLA_FLAGS": "--xla_backend_optimization_level=0"},
        timeout=300,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def strict_json(text: str) -> dict:
    """JSON as other programs read it: without NaN and Infinity."""

    def refuse(constant: str):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def content(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


# A whole run


def check_report(ran: Ran, out: Path, steps: int) -> dict:
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 1, "everything but the report goes to standard error"
    report = strict_json(ran.out)
    assert report.keys() >= KEYS
    assert (report["family"], report["dim"], report["steps"], report["out"]) == ("allen-cahn", 6, steps, str(out))
    assert (report["optimiser"], report["estimator"], report["modulation"]) == ("spring", "gram", "film")
    assert report["relative_l2"] > 0.0
    assert report["skill"] == pytest.approx(report["relative_l2"] / report["mu_blind_error"])
    assert report["pairs_per_second"] == pytest.approx(4 / report["seconds_per_step"])
    assert report["seconds_per_step"] * steps == pytest.approx(report["seconds"]), "of training alone"
    return report


def check_directory(out: Path, report: dict) -> None:
    names = {"config.json", "environment.json", "metrics.jsonl", "report.json", "plots", "checkpoints", "model"}
    assert {path.name for path in out.iterdir()} == {*names, MARK}
    files = {path for path in out.rglob("*") if path.is_file()}
    assert files == {*RUN.own_files(out), out / MARK}, "what is cleared is all that a run writes"
    saved = strict_json((out / "report.json").read_text())
    by_parameter = saved.pop("by_parameter")
    assert saved == report
    assert len(by_parameter) == 100
    assert {"mu", "relative_l2"} <= by_parameter[0].keys()
    assert strict_json((out / "config.json").read_text())["dim"] == 6
    assert "jax" in strict_json((out / "environment.json").read_text())
    metrics = [strict_json(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["step"] == report["steps"]
    assert {"model.safetensors", "model.json", "manifest.json"} == {path.name for path in (out / "model").iterdir()}
    assert [path.name for path in (out / "checkpoints").iterdir()]
    pictures = {path.name: path.read_bytes() for path in (out / "plots").iterdir()}
    assert {"convergence.png", "error_over_parameters.png", "slice.png"} <= pictures.keys()
    assert all(picture.startswith(b"\x89PNG") and len(picture) > 5000 for picture in pictures.values())


def test_solve_then_refuse_then_resume(tmp_path):
    out = tmp_path / "runs" / "first"
    arguments = ("solve", "allen-cahn", *TINY, "--out", out, "--json")
    report = check_report(prism(*arguments, "--steps", 3), out, 3)
    check_directory(out, report)

    before = content(out)
    refused = prism(*arguments, "--steps", 3)
    assert refused.code == 2
    assert f"--resume {out}" in refused.err
    assert "--force" in refused.err
    assert content(out) == before

    resumed = check_report(prism("solve", "--resume", out, "--json"), out, 3)  # with nothing left to do
    check_directory(out, resumed)
    assert resumed["relative_l2"] == report["relative_l2"]
    assert content(out)["model/model.safetensors"] == before["model/model.safetensors"]


@pytest.mark.slow  # a budget in minutes is a matter of the clock
def test_a_process_keeps_its_minutes_and_reports_to_a_person(tmp_path):
    out = tmp_path / "run"
    ran = prism_process("solve", "poisson", *TINY, "--minutes", 0.25, "--out", out, "--seed", 7)
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err
    for words in ("relative L2 error", "trivial baseline", "μ-blind baseline", "skill", str(out)):
        assert words in ran.out
    report = strict_json((out / "report.json").read_text())
    assert report["seed"] == 7
    # A quarter of a minute of training; half a second is one call's deviation from its forecast.
    assert 14.5 < report["seconds"] < 15.5


def test_a_run_that_fails_ends_with_code_1_and_keeps_its_state(tmp_path):
    out = tmp_path / "run"
    # The first step of such a rate throws the weights beyond what float64 can cube and square.
    ran = prism(
        "solve",
        "allen-cahn",
        *latest(*TINY, *SIMPLE),
        "--optimiser",
        "adam",
        "--steps",
        500,
        "--rate",
        1e38,
        "--out",
        out,
        "--json",
    )
    assert ran.code == 1, ran.err
    assert ran.out == ""
    last = ran.err.splitlines()[-1]
    assert last.startswith("prism: failed: training failed at step")
    assert "not finite" in last
    assert "Traceback" not in ran.err
    assert (out / "config.json").is_file()


# Help and lists


def test_help_is_quick_and_does_not_import_jax():
    code = (
        "import sys; from prism.cli import main\n"
        "try: main(['--help'])\n"
        "finally: print([name for name in ('jax', 'numpy', 'equinox') if name in sys.modules])"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = prism_process(python=("-c", code))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1] == "[]"
    # Seconds of the processor, of which a busy machine takes hardly more than an idle one.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def test_help_and_version():
    assert {"solve", "demo", "list"} <= set(prism("--help").out.split())
    assert prism("--version").out.startswith("prism ")


@pytest.mark.slow
def test_a_family_in_time(tmp_path):
    out = tmp_path / "run"
    report = strict_json(prism("solve", "convection", *TINY, "--steps", 2, "--out", out, "--json").out)
    assert report["mu_blind_error"] > 0.3
    config = strict_json((out / "config.json").read_text())
    assert (config["activation"], config["lift_step"], config["estimator"]) == ("sin", "kernel", "exact")
    assert {"slice.png", "space_slice.png"} <= {path.name for path in (out / "plots").iterdir()}
    (tmp_path / "points.csv").write_text("0,0,0,0,0,0,0\n")
    values = prism("predict", out, "--mu", "beta=3", "--points", tmp_path / "points.csv")
    assert values.code == 0
    assert float(values.out) == 0.0, "the initial state of waves at the origin"


def test_list_names_everything():
    tables = strict_json(prism("list", "--json").out)
    assert {"poisson", "allen-cahn", "sine-gordon", "sine-gordon-beta"} <= tables["families"].keys()
    assert {"convection", "reaction", "convection-diffusion", "reaction-diffusion"} <= tables["families"].keys()
    assert {"estimators", "modulations", "optimisers", "activations", "pairings", "losses", "spaces"} <= tables.keys()
    text = prism("list")
    assert text.code == 0
    for rows in tables.values():
        for name, meaning in rows.items():
            assert name in text.out
            assert meaning.strip()


# Bad input


def solve(*more: object) -> tuple:
    return latest("solve", "allen-cahn", *TINY, "--steps", 3, *more)


BETA = ("solve", "sine-gordon-beta", *TINY, "--steps", 3)

BAD_INPUT = {
    "no command": ((), "COMMAND"),
    "unknown command": (("sovle",), "sovle"),
    "unknown option": (solve("--widht", 8), "--widht"),
    "unknown family": (("solve", "allen-kahn", *TINY), "unknown family 'allen-kahn'; choose poisson, allen-cahn"),
    "no family": (("solve", *TINY), "no family given"),
    "no dimension": (("solve", "allen-cahn", *SIZE), "no dim given; such as --dim 100"),
    "negative dimension": (("solve", "allen-cahn", "--dim", -3), "dimension is -3; give a whole number"),
    "dimension 0": (("solve", "allen-cahn", "--dim", 0), "dimension is 0; give a whole number"),
    "dimension 1": (("solve", "allen-cahn", "--dim", 1), "2 dimensions or more, not 1"),
    "dimension not a number": (("solve", "allen-cahn", "--dim", "ten"), "--dim: 'ten' is no whole number"),
    "dimension not whole": (("solve", "allen-cahn", "--dim", 2.5), "--dim: '2.5' is no whole number"),
    "dimension beyond any memory": (("solve", "allen-cahn", "--dim", 10**15, *SIZE, "--steps", 3), "--dim"),
    "estimator without a count": (
        solve("--estimator", "coordinates"),
        "malformed estimator 'coordinates'; write exact",
    ),
    "estimator with a word": (solve("--estimator", "coordinates:few"), "malformed estimator 'coordinates:few'"),
    "estimator unknown": (solve("--estimator", "hutchinson:3"), "malformed estimator 'hutchinson:3'"),
    "estimator empty": (solve("--estimator", ""), "--estimator: the value is empty; give one"),
    "estimator with more": (solve("--estimator", "gaussian:3:shared:x"), "malformed estimator 'gaussian:3:shared:x'"),
    "estimator of none": (
        solve("--estimator", "rademacher:0"),
        "--estimator rademacher:0 draws nothing; give a whole number of 1 or more",
    ),
    "exact with a count": (solve("--estimator", "exact:3"), "malformed estimator 'exact:3'"),
    "too many coordinates": (
        solve("--estimator", "coordinates:7"),
        "--estimator coordinates:7 asks for more than the 6 coordinates",
    ),
    "bounds the wrong way round": (solve("--bounds", "mu1=2:1"), "bounds of mu1 are (2, 1); give the lower one first"),
    "bounds of no length": (solve("--bounds", "mu1=1:1"), "bounds of mu1"),
    "bounds not finite": (solve("--bounds", "mu1=0:inf"), "give finite numbers"),
    "bounds not a number": (solve("--bounds", "mu1=nan:1"), "bounds of mu1"),
    "bounds malformed": (solve("--bounds", "mu1=1-2"), "malformed --bounds 'mu1=1-2'; write NAME=LOW:HIGH"),
    "bounds without a name": (solve("--bounds", "1:2"), "malformed --bounds '1:2'"),
    "bounds of an unknown parameter": (solve("--bounds", "nu=1:2"), "unknown parameter 'nu'; choose mu1, mu2"),
    "a source that is not a number": (
        (*BETA, "--space", "uniform", "--bounds", "beta=-1:1"),
        "of SineGordonBeta is not finite",
    ),
    "log-uniform from a negative bound": ((*BETA, "--bounds", "beta=-1:1"), "lower bound must be positive"),
    "log-uniform from zero": (solve("--space", "log-uniform", "--bounds", "mu2=0:1"), "lower bound must be positive"),
    "unknown space": (solve("--space", "normal"), "'normal'; choose uniform, log-uniform"),
    "unknown modulation": (solve("--modulation", "flim"), "unknown modulation 'flim'; choose film, scale"),
    "unknown pairing": (solve("--pairing", "triple"), "unknown pairing 'triple'; choose paired, crossed"),
    "unknown loss": (solve("--loss", "l3"), "unknown loss 'l3'; choose shared, independent"),
    "unknown optimiser": (solve("--optimiser", "sgd"), "unknown optimiser 'sgd'; choose spring, adam"),
    "unknown step of the lift": (
        solve("--lift-step", "up"),
        "unknown step of the lift 'up'; choose slopes, kernel, both",
    ),
    "damping of adam": (solve("--optimiser", "adam", "--damping", 1), "belong to --optimiser spring"),
    "damping of nothing": (solve("--damping", 0), "--damping 0.0 is too small or too large"),
    "momentum of one": (solve("--momentum", 1), "--momentum 1.0 is out of range"),
    "no affine channels": (solve("--lift", "dense:4+affine:0"), "the number of affine channels is 0; give a whole"),
    "malformed slopes": (solve("--slopes", "half"), "malformed --slopes 'half'; write off, whole"),
    "slopes along nothing": (solve("--slopes", 0), "--slopes 0: slopes along 0 directions are none"),
    "scaled without two bodies": (
        ("solve", "convection", *TINY, "--steps", 3, "--scaled"),
        "--scaled is a variant of the families in the ball; convection has none, leave it out",
    ),
    "convection in one dimension": (("solve", "convection", "--dim", 1), "Convection needs 2 space dimensions"),
    "unknown activation": (solve("--activation", "relu"), "unknown activation 'relu'; choose tanh, sin"),
    "no steps": (("solve", "allen-cahn", *TINY, "--steps", 0), "--steps 0 does nothing; give 1 or more"),
    "negative minutes": (("solve", "allen-cahn", *TINY, "--minutes", -1), "--minutes -1 is out of range"),
    "minutes not a number": (("solve", "allen-cahn", *TINY, "--minutes", "nan"), "--minutes nan is out of range"),
    "steps and minutes": (solve("--minutes", 1), "not allowed with argument"),
    "parameters that do not fit paired points": (
        solve("--params", 3, "--pairing", "paired"),
        "one parameter per point; --points 4 and --params 3 differ",
    ),
    "no parameters": (solve("--pairing", "crossed", "--params", 0), "--params 0 does nothing"),
    "no points": (solve("--points", 0), "--points 0 does nothing"),
    "width 0": (solve("--width", 0), "--width 0 is too small"),
    "lift width 0": (solve("--lift", "dense:0"), "the width of a dense lift is 0; give a whole number of 1 or more"),
    "negative lift width": (solve("--lift", "dense:-1"), "--lift dense:-1: 'dense:-1' has '-1', which means nothing"),
    "depth 0": (solve("--depth", 0), "--depth 0 is too small"),
    "rate 0": (solve("--rate", 0), "--rate 0.0 is too small"),
    "rate not a number": (solve("--rate", "nan"), "--rate nan"),
    "rate without end": (solve("--rate", "inf"), "--rate inf"),
    "checkpoints at negative times": (solve("--checkpoint-seconds", -1), "--checkpoint-seconds -1.0 is too small"),
    "seed out of range": (solve("--seed", -1), "--seed -1 is out of range"),
    "seed too large": (solve("--seed", 2**32), "is out of range"),
    "no time to tune": (("tune", "run", "--mu", "mu1=1", "--out", "out", "--seconds", 0), "--seconds 0 is no budget"),
    "no noise": (("invert", "run", "data.csv", "--noise", 0), "--noise 0 is no standard deviation"),
    "negative error": (("invert", "run", "data.csv", "--model-error", -1), "--model-error -1 is out of range"),
    "prior not a number": (("invert", "run", "data.csv", "--physics", "nan"), "--physics nan is out of range"),
    "resume and out": (("solve", "--resume", "runs/x"), "exclude each other"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_refused_in_one_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    out = ("--out", "out") if arguments[:1] == ("solve",) else ()
    check_refusal(prism(*arguments, *out), words)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def used_directory(path: Path, **changes) -> Path:
    """What an earlier run left, as far as it matters before training."""
    options = SolveOptions(family="allen-cahn", dim=6, width=8, lift="dense:8+affine:4", depth=2, points=4, steps=3)
    path.mkdir(parents=True)
    RUN.mark(path)
    (path / "config.json").write_text(json.dumps({**options.config(), **changes}))
    (path / "report.json").write_text('{"precious": true}')
    (path / "model").mkdir()
    (path / "model" / "model.safetensors").write_bytes(b"precious")
    return path


USED = {
    "used": (("solve", "allen-cahn", *TINY, "--steps", 3, "--out", "run"), "is in use; continue it with --resume run"),
    "forced, with a mistake in the options": (solve("--out", "run", "--force", "--modulation", "flim"), "flim"),
    "forced, with too many coordinates": (
        solve("--out", "run", "--force", "--estimator", "coordinates:7"),
        "more than the 6 coordinates",
    ),
    "forced, with a source that is not a number": (
        (*BETA, "--space", "uniform", "--bounds", "beta=-1:1", "--out", "run", "--force"),
        "not finite",
    ),
    "below a file": (solve("--out", "run/config.json/below"), "cannot write to run/config.json/below"),
    "at a file": (solve("--out", "run/report.json", "--force"), "cannot write to run/report.json"),
    "resumed with another dimension": (
        ("solve", "--resume", "run", "--dim", 7),
        "--dim 7 differs from the run's own 6",
    ),
    "resumed with another family": (("solve", "poisson", "--resume", "run"), "differs from the run's own allen-cahn"),
    "resumed with another seed": (("solve", "--resume", "run", "--seed", 1), "--seed 1 differs from the run's own 0"),
    "resumed with no steps": (("solve", "--resume", "run", "--steps", 0), "--steps 0 does nothing"),
    "resumed where nothing is": (("solve", "--resume", "elsewhere"), "elsewhere holds no run"),
    "resumed where no run is": (("solve", "--resume", "run/model"), "run/model holds no run"),
}


@pytest.mark.parametrize(("arguments", "words"), USED.values(), ids=USED)
def test_an_earlier_run_is_not_touched(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    used_directory(tmp_path / "run")
    before = content(tmp_path)
    check_refusal(prism(*arguments), words)
    assert content(tmp_path) == before


CONFIG = json.dumps(SolveOptions(family="allen-cahn", dim=6).config())
CORRUPTED = {
    "empty": b"",
    "cut off": CONFIG[:50].encode(),
    "not text": b"\xff\xfe\x00",
    "a list": b"[1, 2]",
    "a number": b"7",
    "of another version": b'{"dim": 6}',
    "a word for a number": CONFIG.replace('"dim": 6', '"dim": "six"').encode(),
    "nothing for a number": CONFIG.replace('"dim": 6', '"dim": null').encode(),
    "a number for a word": CONFIG.replace('"allen-cahn"', "5").encode(),
    "a list for a word": CONFIG.replace('"allen-cahn"', "[]").encode(),
}


@pytest.mark.parametrize("text", CORRUPTED.values(), ids=CORRUPTED)
def test_a_corrupted_configuration_is_named(tmp_path, text):
    run = used_directory(tmp_path / "run")
    (run / "config.json").write_bytes(text)
    before = content(tmp_path)
    check_refusal(prism("solve", "--resume", run, "--dim", 6), "config.json")
    assert content(tmp_path) == before


@pytest.mark.slow
def test_a_batch_that_cannot_fit_in_memory_is_refused_with_one_that_does(tmp_path, monkeypatch):
    monkeypatch.setattr(program, "available_bytes", lambda: 10**8)
    monkeypatch.setattr(refusals, "available_bytes", lambda: 10**13)  # the first line passes what the second refuses
    used = used_directory(tmp_path / "run")
    before = content(used)
    many = ("--points", 2_000, "--steps", 3)
    ran = prism("solve", "allen-cahn", *latest(*TINY, *SIMPLE, *many), "--out", used, "--force")
    check_refusal(ran, "a batch of 2000 points needs ")
    assert re.search(r"--points \d+ fits", ran.err)
    assert content(used) == before


def test_a_process_ends_with_code_2_and_one_line(tmp_path):
    ran = prism_process("solve", "allen-kahn", "--dim", "6", "--out", tmp_path / "run")
    check_refusal(ran, "unknown family 'allen-kahn'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["exact", "gram", "gram:4", "coordinates:16", "rademacher:3:shared", "gaussian:2"])
def test_an_estimator_is_reported_under_the_name_it_is_typed_by(text):
    assert estimator_text(parse_estimator(text)) == text


# What options mean


def sampling(**options) -> Sampling:
    chosen = SolveOptions(family="allen-cahn", dim=6, **options)
    family = chosen.build_family()
    settings = chosen.build_settings(family)
    again = chosen.resolved(settings, family)
    assert again.build_settings(again.build_family()).sampling == settings.sampling, "config.json says the same"
    return settings.sampling


def test_parameters_alone_are_crossed_with_all_points():
    assert sampling(params=4) == Sampling(100, 4, crossed=True), "400 pairs, as by default"
    assert sampling(params=4, points=4) == Sampling(4, 4, crossed=True)
    assert sampling(params=4, points=4, pairing="paired") == Sampling(4, 4)
    assert sampling(params=4, pairing="paired") == Sampling(4, 4)
    assert sampling(pairing="crossed") == Sampling(40, 10, crossed=True)
    assert sampling(params=1000) == Sampling(1, 1000, crossed=True)
    assert sampling() == Sampling(400, 400)


def test_the_library_speaks_python_and_the_command_options():
    batch = Sampling(25, 4, crossed=True).argument
    points, generator = Proposal("points", 25, batch), Proposal("generator_width", 4, "a generator_width of 4")
    few, none = TooLarge("a batch is too large", [points, generator]), TooLarge("it is too large", [])
    assert str(few) == f"a batch is too large; {batch} and a generator_width of 4 fit"
    assert in_options(few) == "a batch is too large; --points 25 and --generator-width 4 fit"
    assert str(none) == in_options(none) == "it is too large; take a lower dimension and a smaller network"
    crossed = TooLarge("a batch is too large", [points, Proposal("params", 4, batch)])
    assert str(crossed) == "a batch is too large; sampling=prism.Sampling(25, 4, crossed=True) fits", "said once"
    assert in_options(crossed) == "a batch is too large; --points 25 and --params 4 fit"
    wide = TooLarge("it is too large", [Proposal("lift", Dense(64) + Affine(4), "a lift of 68")])
    assert in_options(wide) == "it is too large; --lift dense:64+affine:4 fits"
    sampled = TooLarge("it is too large", [Proposal("estimator", Rademacher(8), "estimator=prism.Rademacher(8)")])
    assert in_options(sampled) == "it is too large; --estimator rademacher:8 fits"
    used = UnusableOutput("out is in use", replaceable=True)
    assert str(used) == "out is in use; replace it with force=True, or choose another place"
    assert in_options(used) == "out is in use; replace it with --force, or choose another --out"
