"""The pages that the site shows: solve two families, and keep what their pages hold in docs/pages/.

    python benchmarks/pages.py                    both; about 7 minutes
    python benchmarks/pages.py allen-cahn         one of them
    python benchmarks/pages.py --runs runs/pages  keep the runs there; those that are there are not solved again

docs/hooks.py makes the HTML from it, with the script as it is now. Where there is a chromium, a picture is taken too.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from prism.cli import main
from prism.cli.explore import page_of
from prism.cli.loading import load_run
from prism.files.encoding import json_text
from prism.files.storage import write_file
from prism.solution.explorer.page import Page

ROOT = Path(__file__).parent.parent
PAGES, FIGURES = ROOT / "docs" / "pages", ROOT / "docs" / "figures"
RUNS = {
    "allen-cahn": ["solve", "allen-cahn", "--dim", "100", "--minutes", "2"],
    "convection": ["solve", "convection", "--dim", "50", "--minutes", "4"],
}
FRAGMENTS = {"convection": "#view=field&across=x1&up=t&mu.beta=8"}
"""The address behind # at which a picture is taken, of the pages that have one."""
SIZE = "1280,690"
BROWSER_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=8000")


def make(name: str, directory: Path) -> None:
    """Solve the family, unless it is solved, and keep the content of its page."""
    run = directory / name
    if not (run / "report.json").is_file() and main([*RUNS[name], "--out", str(run)]):
        raise SystemExit(f"{name} was not solved")
    page = page_of(load_run(run), run, None)
    write_file(PAGES / f"{name}.json", (json_text(page.content) + "\n").encode())
    picture(name, page, directory)


def picture(name: str, page: Page, directory: Path) -> None:
    """As a browser shows it, where there is one."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None or name not in FRAGMENTS:
        return
    file, shot = (directory / f"{name}.html").absolute(), FIGURES / f"explore-{name}.png"
    page.save(file, force=True)
    asked = [f"--user-data-dir={directory / 'browser'}", f"--window-size={SIZE}", f"--screenshot={shot}"]
    subprocess.run(
        [browser, *BROWSER_OPTIONS, *asked, f"file://{file}{FRAGMENTS[name]}"], check=True, capture_output=True
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"Which of {', '.join(RUNS)}; all unless some are named."
    )
    parser.add_argument("--runs", type=Path, help="Where to keep the runs; by default nowhere.")
    options = parser.parse_args()
    chosen = options.names or list(RUNS)
    if unknown := [one for one in chosen if one not in RUNS]:
        parser.error(f"there is no page {unknown[0]}; there are {', '.join(RUNS)}")
    with tempfile.TemporaryDirectory() as directory:
        for one in chosen:
            make(one, options.runs or Path(directory))
