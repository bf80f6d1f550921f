"""Pages in a real browser: what it computes, how fast it follows, and what a user can do without a mouse.

These tests are slow, and skipped where there is no chromium with its driver; `make test-slow` installs both where it
can.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import EVOLUTION_FAMILIES, linear
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from solution.explorer.pages import Anywhere
from solution.networks import random_network

from prism.families import AllenCahn, Heat
from prism.networks.lifts.parts import Dense, Sites
from prism.networks.model import Architecture
from prism.numerics.keys import Purpose, stream
from prism.problem.domains import Ball
from prism.problem.parameters import LogUniform
from prism.solution.explorer.content import subspace_content
from prism.solution.explorer.page import Page
from prism.solution.explorer.server import PageServer
from prism.solution.explorer.subject import Subject
from prism.solution.solution import Solution

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="no chromium with chromedriver: apt-get install chromium-driver"
    ),
]
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars")
AGREEMENT = 1e-5
"""Of the solution's size: the aim for values in the page."""
PATIENCE = 20.0
"""Seconds that are waited for what should happen at once."""
ASKED = 200
"""Random places and parameters."""
KEY = stream(0, Purpose.PROBLEM)
CASES = {
    "sites": (AllenCahn.create(6, KEY), Dense(16) + Sites(2, features=4, hidden=6)),
    "in time": (EVOLUTION_FAMILIES[0], linear(8)),
    "known at a point": (Heat.create(5, KEY), linear(8)),
    "logarithmic": (Anywhere(Ball(3), LogUniform(k=(0.1, 10.0))), linear(8)),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    downloads = str(tmp_path_factory.mktemp("downloads"))
    options.add_experimental_option("prefs", {"download.default_directory": downloads})
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))
    driver.downloads = Path(downloads)
    yield driver
    driver.quit()


def solution_of(case: str) -> Solution:
    family, lift = CASES[case]
    return Solution(random_network(family, Architecture(lift, 16, 3, 8, 2)), family)


@pytest.fixture(scope="module", params=CASES)
def shown(request, tmp_path_factory):
    """A solution and the file of its page."""
    solution = solution_of(request.param)
    path = tmp_path_factory.mktemp("pages") / "page.html"
    solution.explore(progress=False).save(path)
    return solution, path


def opened(browser, path: Path, fragment: str = "", width: int = 1280, scheme: str = "light", settled: bool = True):
    """The page at this width; if it is one of a solution, once it has drawn its finest picture."""
    measures = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", measures)
    colours = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
    browser.get("about:blank")
    browser.get(f"file://{path}{fragment}")
    if settled:
        settle(browser)


def settle(browser) -> None:
    data = lambda name: browser.execute_script(f"return document.documentElement.dataset.{name}")
    WebDriverWait(browser, PATIENCE).until(lambda _: data("grid") in ("96", "161"))


def text(browser, name: str) -> str:
    return browser.find_element(By.ID, name).text


def test_it_checks_itself_and_says_nothing_else(browser, shown):
    _, path = shown
    opened(browser, path)
    assert text(browser, "check").startswith("✓ checked against 64 values")
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


QUESTIONS = """
const page = answers.opened(JSON.parse(document.getElementById("content").textContent));
return arguments[0].map((question) => answers.predicted(page, question)[0]);
"""


def test_its_values_are_those_of_the_live_solution(browser, shown):
    """At random places of all planes and random μ, also beyond the trained box."""
    solution, path = shown
    opened(browser, path)
    generator, domain, space = np.random.default_rng(3), solution.family.domain, solution.family.parameters
    content = browser.execute_script('return JSON.parse(document.getElementById("content").textContent)')
    offered, timed = content["slices"]["coordinates"], domain.time_horizon is not None
    points, questions = np.tile(np.asarray(domain.centre()), (ASKED, 1)), []
    low, high = np.asarray([[side["from"], side["to"]] for side in content["parameters"]]).T
    mu = low + (high - low) * generator.uniform(size=(ASKED, space.size))
    for point, own in zip(points, mu, strict=True):
        plane = generator.choice(len(offered), size=min(2, len(offered)), replace=False)
        place = {int(k): generator.uniform(offered[k]["low"], offered[k]["high"]) / 1.5 for k in plane}
        for k, value in place.items():
            point[int(offered[k]["name"][1:]) - 1] = value
        if timed:
            point[-1] = domain.time_horizon * generator.uniform()
        questions.append({"space": place, "time": float(point[-1]), "mu": own.tolist(), "axes": []})
    found = np.asarray(browser.execute_script(QUESTIONS, questions))
    with warnings.catch_warnings(action="ignore"):  # beyond the box
        live = np.asarray(solution(jnp.asarray(points), **dict(zip(space.names, jnp.asarray(mu).T, strict=True))))
    assert np.max(np.abs(found - live)) < AGREEMENT * np.sqrt(np.mean(live**2))


def test_a_field_follows_the_slider_at_once(browser, shown):
    _, path = shown
    opened(browser, path)
    slider = browser.find_element(By.CSS_SELECTOR, "#sliders input[type=range]")
    before, told, taken = slider.get_attribute("value"), text(browser, "trust"), []
    for _ in range(8):
        slider.send_keys(Keys.ARROW_RIGHT)
        time.sleep(0.3)
        taken.append(float(browser.execute_script("return document.documentElement.dataset.milliseconds")))
    assert int(slider.get_attribute("value")) == int(before) + 8
    assert float(np.median(taken)) < 100.0  # milliseconds from the key to the new field
    for _ in range(60):
        slider.send_keys(Keys.PAGE_UP)
    settle(browser)
    assert text(browser, "trust") != told
    assert "outside the trained box" in text(browser, "trust")


def test_the_address_holds_the_state(browser, shown):
    _, path = shown
    opened(browser, path)
    slider = browser.find_element(By.CSS_SELECTOR, "#sliders input[type=range]")
    slider.send_keys(Keys.HOME)
    browser.find_element(By.ID, "view").send_keys("a curve")
    time.sleep(1.0)
    address, trust = browser.current_url, text(browser, "trust")
    assert "view=curve" in address
    opened(browser, path, "#" + address.split("#")[1])
    assert browser.current_url == address
    assert text(browser, "trust") == trust
    opened(browser, path, "#view=nonsense&across=x99&time=soon&mu.beta=1e999")  # as at the start
    assert text(browser, "check").startswith("✓")


def test_the_cursor_walks_by_keys(browser, shown):
    _, path = shown
    opened(browser, path)
    canvas = browser.find_element(By.CSS_SELECTOR, "#figures canvas")
    canvas.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_UP)
    assert "û = " in text(browser, "reading")
    assert canvas.get_attribute("aria-label").startswith("û, prediction over")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_whole(scheme, browser, shown):
    _, path = shown
    opened(browser, path, width=390, scheme=scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_time_plays(browser, tmp_path):
    solution_of("in time").explore(["x1", "x2"], progress=False).save(tmp_path / "page.html")
    opened(browser, tmp_path / "page.html", "#view=field&across=x1&up=x2")
    play = browser.find_element(By.ID, "play")
    slider = browser.find_element(By.ID, "slider-t")
    before = slider.get_attribute("value")
    play.click()
    time.sleep(1.0)
    assert play.get_attribute("aria-pressed") == "true"
    assert slider.get_attribute("value") != before
    play.click()
    assert play.get_attribute("aria-pressed") == "false"


def test_a_picture_is_saved(browser, shown):
    _, path = shown
    opened(browser, path)
    for old in browser.downloads.iterdir():
        old.unlink()
    browser.find_element(By.ID, "png").click()
    saved = WebDriverWait(browser, PATIENCE).until(lambda _: [p for p in browser.downloads.glob("*.png")])
    assert saved[0].read_bytes().startswith(b"\x89PNG")


def test_a_damaged_page_says_so(browser, tmp_path):
    content = solution_of("sites").explore(["x1", "x2"], progress=False).content
    probes = [{**probe, "u": probe["u"] + 1.0} for probe in content["slices"]["probes"]]
    damaged = {**content, "slices": {**content["slices"], "probes": probes}}
    Page(damaged).save(tmp_path / "page.html")
    opened(browser, tmp_path / "page.html")
    assert text(browser, "check").startswith("✗")


def test_a_served_page_takes_other_coordinates(browser):
    solution = solution_of("sites")
    subject = Subject(solution.model, solution.family, solution.limits)
    page = Page({**solution.explore(["x1", "x2"], progress=False).content, "served": True})
    with PageServer(0) as server:
        offer = (page.html(), lambda names: subspace_content(subject, names))
        threading.Thread(target=server.offer, args=offer, daemon=True).start()
        browser.get(server.address)
        settle(browser)
        field = browser.find_element(By.ID, "coordinate")
        field.send_keys("x5", Keys.ENTER)
        WebDriverWait(browser, PATIENCE).until(lambda _: text(browser, "added") == "x5 is there")
        assert "across=x5" in WebDriverWait(browser, PATIENCE).until(
            lambda b: b.current_url if "across=x5" in b.current_url else None
        )
        field.clear()
        field.send_keys("x9", Keys.ENTER)
        WebDriverWait(browser, PATIENCE).until(lambda _: "no coordinate 'x9'" in text(browser, "added"))
        server.shutdown()


ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documents as a site."""
    place = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return place


@pytest.mark.parametrize("name", ["allen-cahn", "convection"])
def test_the_pages_of_the_site_work(name, browser, site):
    opened(browser, site / "exploring.html", settled=False)
    browser.find_element(By.CSS_SELECTOR, f'a[href="explore/{name}.html"]').click()
    settle(browser)
    assert text(browser, "check").startswith("✓")


def test_the_frame_of_a_notebook_stays_where_it_is(browser, tmp_path):
    page = solution_of("sites").explore(["x1", "x2"], progress=False)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>above</p>{page._repr_html_()}", encoding="utf-8")
    opened(browser, tmp_path / "notebook.html", settled=False)
    browser.switch_to.frame(0)
    settle(browser)
    time.sleep(1.0)  # the address of a page is kept once nothing moves
    assert text(browser, "check").startswith("✓")
    browser.switch_to.default_content()
