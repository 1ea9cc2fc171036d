#!/usr/bin/env python3
"""Draws the choice of a sampler:   python3 docs/decision.py >docs/decision.svg

The picture has light and dark colours, and letters that can be read at half its size.
"""
from html import escape

# A question, its lines; the answer, its lines: the first is what to take.
ROWS = [
    (["Are the variables", "real numbers?"], ["flow::Hmc", "flow::Esh to move fast"]),
    (["Do hard constraints", "forbid most moves?"], ["HammingBall, LocallyBalanced", "Swap keeps the number of ones"]),
    (["Is it an RBM?"], ["BlockGibbs", "many chains: step_together"]),
    (["Are the couplings sparse:", "Ising, Potts, a graph?"], ["SequentialGibbs, ChromaticGibbs", "many chains: Batch, PottsBatch"]),
    (["Is there a gradient?"], ["Langevin::adjusted", "strong couplings: second_order"]),
    (["Only E is known"], ["RandomWalk", "a small model: Gibbs"]),
]
LAST = (["Do the chains still disagree", "(R̂ above 1.05)?"], ["Replica exchange over any of these", "no frustration: SwendsenWang, Wolff"])
WIDTH, LEFT, RIGHT, TOP, PITCH, HIGH = 1200, 440, 600, 130, 118, 84
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


def box(kind, x, y, width, lines, bold):
    out = [f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{HIGH}" rx="10"/>']
    for number, line in enumerate(lines):
        base = y + HIGH / 2 + 10 + (number - (len(lines) - 1) / 2) * 34
        style = "take" if bold and number == 0 else "small" if bold else ""
        out.append(f'<text class="{style}" x="{x + 20}" y="{base:g}">{escape(line)}</text>')
    return out


def arrow(points, head):
    (x, y), down = points[-1], head == "down"
    tip = f"M{x} {y} l-9 -14 h18 z" if down else f"M{x} {y} l-14 -9 v18 z"
    return [f'<path class="line" d="M{" L".join(f"{a} {b}" for a, b in points)}"/>', f'<path class="head" d="{tip}"/>']


def draw():
    height = TOP + PITCH * (len(ROWS) + 1) + 20
    title = "Which sampler: the first yes decides"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="40" y="62">{title}</text>',
        '<text class="small" x="40" y="100">From top to bottom. Vectors, bits, spins or values; p(x) ∝ exp(−E(x)).</text>',
    ]
    across = 40 + LEFT
    answers = WIDTH - 40 - RIGHT
    for number, (question, answer) in enumerate(ROWS):
        y = TOP + PITCH * number
        out += box("ask", 40, y, LEFT, question, False) + box("answer", answers, y, RIGHT, answer, True)
        out += arrow([(across, y + HIGH // 2), (answers - 2, y + HIGH // 2)], "right")
        last = number == len(ROWS) - 1
        if not last:
            out.append(f'<text class="arrow" x="{across + 16}" y="{y + HIGH // 2 - 10}">yes</text>')
            out += arrow([(140, y + HIGH), (140, y + PITCH - 2)], "down")
            out.append(f'<text class="arrow" x="156" y="{y + HIGH + 25}">no</text>')
    y = TOP + PITCH * len(ROWS)
    out += box("last", 40, y, LEFT, LAST[0], False) + box("last", answers, y, RIGHT, LAST[1], True)
    out += arrow([(across, y + HIGH // 2), (answers - 2, y + HIGH // 2)], "right")
    out.append(f'<text class="arrow" x="{across + 16}" y="{y + HIGH // 2 - 10}">yes</text>')
    return "\n".join(out + ["</svg>"])


print(draw())
