#!/usr/bin/env python3
"""Draws the pictures of the book:   python3 docs/pictures.py   (writes docs/decision.svg and docs/architecture.svg)

With `--check` it fails where a file is not what it would write. The pictures have light and dark colours, and letters that
can be read at half their size.
"""
import pathlib
import sys
from html import escape

FOLDER = pathlib.Path(__file__).resolve().parent
STYLE = """
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 27px; fill: #1b2733 }
  .title { font-size: 34px; font-weight: 600 } .take { font-weight: 600 } .small { font-size: 24px } .arrow { font-size: 24px; font-style: italic }
  .page { fill: #ffffff } .ask { fill: #eef2f6; stroke: #5b6b7b } .answer { fill: #dff0e4; stroke: #2f7d4f } .last { fill: #fdf0d9; stroke: #a86a12 }
  .line { stroke: #5b6b7b; stroke-width: 3; fill: none } .head { fill: #5b6b7b } rect { stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e8edf2 } .page { fill: #14191f } .ask { fill: #232c36; stroke: #93a4b5 } .answer { fill: #17402a; stroke: #6cc592 }
    .last { fill: #4a350f; stroke: #e0a84a } .line { stroke: #93a4b5 } .head { fill: #93a4b5 }
  }
"""
HIGH = 84
WIDTH = 1200


def page(title, height, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        text("title", 40, 62, title),
        *parts,
        "</svg>\n",
    ])


def text(style, x, y, words):
    return f'<text class="{style}" x="{x}" y="{y:g}">{escape(words)}</text>'


def box(kind, x, y, width, lines, bold, high=HIGH):
    out = [f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{high}" rx="10"/>']
    for number, line in enumerate(lines):
        base = y + high / 2 + 10 + (number - (len(lines) - 1) / 2) * 34
        style = "take" if bold and number == 0 else "small" if bold else ""
        out.append(text(style, x + 20, base, line))
    return out


def arrow(points, way):
    x, y = points[-1]
    tip = {
        "down": f"M{x} {y} l-9 -14 h18 z",
        "up": f"M{x} {y} l-9 14 h18 z",
        "right": f"M{x} {y} l-14 -9 v18 z",
        "left": f"M{x} {y} l14 -9 v18 z",
    }[way]
    line = " L".join(f"{a} {b}" for a, b in points)
    return [f'<path class="line" d="M{line}"/>', f'<path class="head" d="{tip}"/>']


# A question, its lines; the answer, its lines: the first is what to take.
ROWS = [
    (["Are the variables", "real numbers?"], ["flow::Hmc", "flow::Esh to move fast"]),
    (["Do hard constraints", "forbid most moves?"], ["Gibbs; few moves: LocallyBalanced", "no single moves: HammingBall, Swap"]),
    (["Is it an RBM?"], ["BlockGibbs", "many chains: step_together"]),
    (["Is it a sparse Ising model", "or a QUBO?"], ["SequentialGibbs, ChromaticGibbs", "many chains: Batch"]),
    (["Is it a sparse model of more", "than two values: Potts?"], ["Gibbs::systematic", "Potts: ChromaticGibbs, PottsBatch"]),
    (["Is there a gradient?"], ["Langevin::adjusted", "strong couplings: second_order"]),
    (["Only E is known"], ["Gibbs::systematic", "one total a step: RandomWalk"]),
]
LAST = (["Do the chains still disagree", "(R̂ above 1.05)?"], ["Replica exchange over any of these", "no frustration: SwendsenWang, Wolff"])


def decision():
    left, right, top, pitch = 440, 600, 130, 118
    across, answers = 40 + left, WIDTH - 40 - right
    out = [text("small", 40, 100, "From top to bottom. Vectors, bits, spins or values; p(x) ∝ exp(−E(x)).")]
    for number, (question, answer) in enumerate([*ROWS, LAST]):
        y = top + pitch * number
        kinds = ("last", "last") if number == len(ROWS) else ("ask", "answer")
        out += box(kinds[0], 40, y, left, question, False) + box(kinds[1], answers, y, right, answer, True)
        out += arrow([(across, y + HIGH // 2), (answers - 2, y + HIGH // 2)], "right")
        if number != len(ROWS) - 1:
            out.append(text("arrow", across + 16, y + HIGH // 2 - 10, "yes"))
        if number < len(ROWS) - 1:
            out += arrow([(140, y + HIGH), (140, y + pitch - 2)], "down")
            out.append(text("arrow", 156, y + HIGH + 25, "no"))
    return page("Which sampler: the first yes decides", top + pitch * (len(ROWS) + 1) + 20, out)


# The modules of kernel/src, from numbers up.
MODULES = [
    ("numbers and states", "lane   layout   packed   random"),
    ("models and draws", "draw   energy   accept   noise"),
    ("a chain, a step", "chain   step   open"),
    ("many chains", "batch   sliced   quantised   temper"),
    ("around a run", "snapshot   schedule   tune   stats"),
    ("more uses", "learn   flow"),
]


def architecture():
    wide, top = 330, 120
    columns = [40, 435, 830]
    upper = [["here", "x, E, ∂E/∂x"], ["probabilities", "of each value"], ["draw y", "and log q(y|x)"]]
    lower = [["test, swap", "Metropolis"], ["way back", "log q(x|y)"], ["there", "y, E′, ∂E/∂y"]]
    low = top + 190
    out = []
    for x, lines in zip(columns, upper):
        out += box("answer" if x == 40 else "ask", x, top, wide, lines, True)
    for x, lines in zip(columns, lower):
        out += box("answer" if x == 830 else "ask", x, low, wide, lines, True)
    for left, right in zip(columns, columns[1:]):
        out += arrow([(left + wide, top + HIGH // 2), (right - 2, top + HIGH // 2)], "right")
        out += arrow([(right, low + HIGH // 2), (left + wide + 2, low + HIGH // 2)], "left")
    out += arrow([(995, top + HIGH), (995, low - 2)], "down") + arrow([(205, low), (205, top + HIGH + 2)], "up")
    out.append(text("arrow", 700, top + HIGH + 60, "ask: evaluate y"))
    out.append(text("arrow", 225, top + HIGH + 60, "the next step"))
    y = low + HIGH + 80
    out.append(text("title", 40, y, "The modules of the kernel, from numbers up"))
    for number, (idea, modules) in enumerate(MODULES):
        line = y + 30 + number * 72
        out += box("ask", 40, line, 1120, [], False, 60)
        out += [text("small", 60, line + 39, idea), text("take", 400, line + 39, modules.replace("   ", " · "))]
    return page("A step: one gradient", y + 30 + 72 * len(MODULES) + 20, out)


def main():
    wrong = 0
    for name, picture in {"decision": decision(), "architecture": architecture()}.items():
        path = FOLDER / f"{name}.svg"
        if sys.argv[1:] != ["--check"]:
            path.write_text(picture)
        elif not path.exists() or path.read_text() != picture:
            wrong += 1
            print(f"docs/{name}.svg is not what docs/pictures.py draws: python3 docs/pictures.py")
    return wrong


sys.exit(main())
