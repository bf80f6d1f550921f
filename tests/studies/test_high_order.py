"""The study of equations of high order: the same network differentiated in two ways, and one real run."""

import pytest
from studies.bench import bench
from studies.measurements import MEASUREMENTS

from prism import Dense, Sampling
from prism.families import GKdV
from prism.solving.settings import Settings
from prism.studies import high_order, steppers
from prism.studies.peers.nested import NestedObjective
from prism.studies.steppers import EACH_ROUND


def test_both_ways_are_on_one_line():
    """The default has no other way beside it."""
    measured = MEASUREMENTS["high-order"]()
    rows = high_order.summary(measured)
    assert [(row["equation"], row["network"]) for row in rows] == [
        (equation, network) for equation in ("third", "fourth") for network in ("narrow", "wide", "default")
    ]
    for row in rows:
        alone = row["network"] == "default"
        ratio = None if alone else pytest.approx({"third": 3.0, "fourth": 4.0}[row["equation"]])
        assert row["ratio"] == row["FLOP ratio"] == ratio
        assert (row["steps/s, nested reverse"] is None) == (row["relative L2, nested reverse"] is None) == alone
    assert high_order.summary(measured[::-1]) == rows[::-1]


def test_a_slow_round_changes_no_ratio():
    series, nested, *_ = MEASUREMENTS["high-order"]()
    rounds = lambda cost: {EACH_ROUND: [cost * load for load in (1.0, 10.0, 1.0)]}
    (row,) = high_order.summary([series | rounds(2e-3), nested | rounds(3e-3)])
    assert row["ratio"] == pytest.approx(1.5)
    assert row["quartiles"] == "1.50 to 1.50"


def test_the_finding_compares_equals():
    """Speeds by equation and network, errors within a cell, and the default with the best of its own equation, in
    whatever order they were measured."""
    measured = MEASUREMENTS["high-order"]()
    finding = high_order.finding(measured)
    assert "third 3.00 (narrow), 3.00 (wide); fourth 4.00 (narrow), 4.00 (wide)" in finding
    assert "the lower one in 2 of 4 cells" in finding
    best = {"third": 1e-2 / 3.0, "fourth": 1e-2 / 4.0}
    gains = [best["third"] / 3e-5, best["fourth"] / 4e-5]
    assert f"{min(gains):.2g} to {max(gains):.2g} times below" in finding
    third = [one for one in measured if one["equation"] == "third"]
    exchanged = [*third[:-1], *[one for one in measured if one["equation"] == "fourth"], third[-1]]
    assert high_order.finding(exchanged) == finding


def test_every_measurement_is_in_the_figure():
    """Each way has its own place beside the name of a network."""
    measured = MEASUREMENTS["high-order"]()
    drawn = high_order.figure(measured)
    speeds, errors = drawn.axes[:2], drawn.axes[2:]
    assert [axes.get_title() for axes in speeds] == ["third", "fourth"]
    for axes in (*speeds, *errors):
        places = [place for line in axes.lines if line.get_linestyle() == "None" for place in line.get_xdata()]
        assert len(places) == len(set(places)) == len(measured) // 2
        assert [label.get_text() for label in axes.get_xticklabels()] == ["narrow", "wide", "default"]


def test_both_ways_minimise_the_same(monkeypatch):
    """The family and the settings, with them the network and the seed, are one; the objective alone is exchanged."""
    noted = []

    def note(family, settings, exchange=None):
        noted.append((family, settings, exchange))

    monkeypatch.setattr(high_order, "Stepper", note)
    monkeypatch.setattr(high_order, "measured", lambda column, ways, seconds, labels: [{"ways": [*ways], **labels}])
    told = []
    measured = high_order.run(False, told.append)
    assert len(measured) == len(told) == len(set(told)) == len(high_order.plan(False))
    networks = [*high_order.NETWORKS, high_order.DEFAULT]
    assert [one["network"] for one in measured] == networks * len(high_order.EQUATIONS)
    for one in measured:
        (family, settings, exchange), *others = noted[: len(one["ways"])]
        del noted[: len(one["ways"])]
        assert exchange is None
        assert one["ways"] == (["series"] if one["network"] == high_order.DEFAULT else ["series", "nested reverse"])
        for other in others:
            assert other == (family, settings, NestedObjective.of)
        if one["network"] != high_order.DEFAULT:
            sizes = high_order.NETWORKS[one["network"]]
            assert (settings.architecture.width, settings.architecture.depth) == (sizes.width, sizes.depth)
            assert settings.architecture.lift == Dense(sizes.width)


@pytest.mark.slow
def test_the_study_runs(monkeypatch, tmp_path, capsys):
    """One equation and a tiny network, for a moment; what the default takes is small too."""
    chosen = Settings.choose
    small = lambda family, **choices: chosen(family, **choices, sampling=Sampling(4, 4))
    monkeypatch.setattr(high_order, "EQUATIONS", {"gkdv": GKdV})
    monkeypatch.setattr(high_order, "NETWORKS", {"tiny": high_order.Network(4, 2, 1.0)})
    monkeypatch.setattr(high_order, "SECONDS", 0.05)
    monkeypatch.setattr(high_order.Settings, "choose", small)
    monkeypatch.setattr(steppers, "ROUND_SECONDS", 1e-3)
    series, nested, default = bench("high-order", tmp_path, capsys)
    assert [one["derivatives"] for one in (series, nested, default)] == ["series", "nested reverse", "series"]
    assert [one["network"] for one in (series, nested, default)] == ["tiny", "tiny", "default"]
    assert series["FLOP per step"] != nested["FLOP per step"]
