"""TensorBoard and Weights & Biases: imported when they are used, and named where they are missing."""

import sys
from types import SimpleNamespace

import pytest

import prism
from prism.solution.training_record import TrainingRecord

RECORDS = (TrainingRecord(5, 0.5, 0.25, None, None, 0), TrainingRecord(9, 1.0, 0.125, 0.5, 0.01, 1))


def test_tensorboard(monkeypatch):
    written = []

    class Writer:
        def __init__(self, directory):
            written.append(directory)

        def add_scalar(self, name, value, step):
            written.append((name, value, step))

        def close(self):
            written.append("closed")

    monkeypatch.setitem(sys.modules, "tensorboard", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tensorboard.summary", SimpleNamespace(Writer=Writer))
    callback = prism.TensorBoard("logs")
    for record in RECORDS:
        callback(record)
    callback.close()
    assert written[0] == "logs"
    assert written[-1] == "closed"
    assert ("loss", 0.25, 5) in written
    assert ("relative_l2", 0.5, 9) in written
    assert not [entry for entry in written if entry[0] == "relative_l2" and entry[2] == 5], "not measured then"


def test_weights_and_biases(monkeypatch):
    logged = []
    run = SimpleNamespace(
        log=lambda values, step: logged.append((step, values)), finish=lambda: logged.append("finished")
    )
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=lambda **given: logged.append(given) or run))
    callback = prism.WeightsAndBiases(project="heat", mode="offline")
    callback(RECORDS[1])
    callback.close()
    assert logged[0] == {"project": "heat", "mode": "offline"}
    assert logged[1][0] == 9
    assert logged[1][1]["loss"] == 0.125
    assert logged[-1] == "finished"


MISSING = {"tensorboard": lambda: prism.TensorBoard("logs"), "wandb": lambda: prism.WeightsAndBiases()}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_installed_is_named(monkeypatch, name):
    for module in (name, f"{name}.summary"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(prism.InputError, match=f"pip install 'prism-pde\\[{name}\\]'"):
        MISSING[name]()
