"""Pages in a real browser: how large they are, how far from the live solution, how fast they follow a slider.

    python benchmarks/pages.py --runs runs
    python benchmarks/explore.py runs/allen-cahn runs/convection --pictures runs/pictures

For every run: bytes of its page; the largest difference from the live solution, as it is used and in double precision,
at 200 random (x, μ) of the offered planes and of the box, over the root mean square of u there; the median time from a
key on the slider to the new field, at the coarse grid. Needs chromium and chromedriver. Results go to
benchmarks/results/explore.json.
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from prism.cli.explore import page_of
from prism.cli.loading import load_run
from prism.files.encoding import json_text
from prism.files.storage import write_file
from prism.numerics.precision import in_double_precision
from prism.solution.explorer.content import axes_named
from prism.solution.explorer.places import Places
from prism.solution.explorer.subject import Subject
from prism.solution.prediction import value

OUT = Path(__file__).parent / "results" / "explore.json"
ASKED, KEYS = 200, 20
WIDTHS = {1280: 800, 390: 844}
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars")
QUESTIONS = """
const page = answers.opened(JSON.parse(document.getElementById("content").textContent));
return arguments[0].map((question) => answers.predicted(page, {...question, axes: []})[0]);
"""


def browser(profile: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    return webdriver.Chrome(options, Service("/usr/bin/chromedriver"))


def measure(run: Path, driver: webdriver.Chrome, directory: Path, pictures: Path | None) -> dict[str, object]:
    """One row."""
    solution = load_run(run)
    page, file = page_of(solution, run, None), directory / f"{run.name}.html"
    page.save(file, force=True)
    sized(driver, 1280)
    driver.get(f"file://{file}")
    time.sleep(4.0)
    axes = axes_named(solution.family, [one["name"] for one in page.content["slices"]["coordinates"]])
    places = Places.random(Subject(solution.model, solution.family, solution.limits), axes, ASKED, seed=1)
    found = np.asarray(driver.execute_script(QUESTIONS, places.as_json()))
    live = places.ask(eqx.Partial(value, solution.model, solution.family), solution.family)
    with jax.enable_x64(True):
        model, family = in_double_precision((solution.model, solution.family))
        precise = places.ask(eqx.Partial(value, model, family), family)
    size = np.sqrt(np.mean(live**2))
    difference = lambda truth: float(np.max(np.abs(found - truth)) / size)
    row = {
        "family": type(solution.family).__name__,
        "dimension": solution.family.domain.dimension,
        "bytes": file.stat().st_size,
        "difference_from_live": difference(live),
        "difference_in_double_precision": difference(precise),
        "milliseconds": float(np.median(moved(driver))),
        "check": driver.execute_script("return document.documentElement.dataset.check"),
    }
    if pictures is not None:
        photographed(driver, file, run.name, pictures)
    return row


def moved(driver: webdriver.Chrome) -> list[float]:
    """Milliseconds from a key on the first slider to the new field, at the coarse grid."""
    slider = driver.find_element(By.CSS_SELECTOR, "#sliders input[type=range]")
    taken = []
    for number in range(KEYS):
        slider.send_keys(Keys.ARROW_RIGHT if number % 2 else Keys.ARROW_LEFT)
        time.sleep(2.0)  # the finer grid is done
        taken.append(float(driver.execute_script("return document.documentElement.dataset.milliseconds")))
    return taken


def sized(driver: webdriver.Chrome, width: int) -> None:
    measures = {"width": width, "height": WIDTHS[width], "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", measures)


def photographed(driver: webdriver.Chrome, file: Path, name: str, pictures: Path) -> None:
    pictures.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        sized(driver, width)
        driver.get("about:blank")
        driver.get(f"file://{file}")
        time.sleep(4.0)
        driver.save_screenshot(str(pictures / f"{name}-{width}.png"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="Directories of finished runs.")
    parser.add_argument("--pictures", type=Path, help="Where to put a picture of each page at 1280 and 390 pixels.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        driver = browser(f"{place}/profile")
        rows = [measure(run, driver, Path(place), options.pictures) for run in options.runs]
        known = driver.capabilities["browserVersion"]
        driver.quit()
    content = {"browser": f"chromium {known}", "machine": platform.processor() or platform.machine(), "rows": rows}
    write_file(OUT, (json_text(content, indent=2) + "\n").encode())
    print(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
