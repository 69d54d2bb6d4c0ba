#!/usr/bin/env python3
"""The picture of the README: validation score against seconds of several programs on one graph, as an SVG.

usage: scripts/convergence.py RESULTS NAME OUT.svg METHOD=LABEL...

RESULTS is the folder of `scripts/peers.py`; METHOD is the end of a file name there, as `pyg-sign` in
`NAME--pyg-sign.json`. Seconds count from the loaded data on, preparation included. Standard library only.
"""
import json
import math
import sys

COLOURS = ["#2563eb", "#d97706", "#059669", "#7c3aed", "#6b7280"]
LEFT, RIGHT, TOP, BOTTOM = 64, 740, 44, 348


def curve(results, name, method):
    with open(f"{results}/{name}--{method}.json") as f:
        r = json.load(f)
    return [(r["preprocess_s"] + q["cum_s"], q["val"]) for q in r["log"] if q.get("val") is not None]


def main():
    results, name, out, *methods = sys.argv[1:]
    methods = [m.partition("=")[::2] for m in methods]
    curves = [(label, curve(results, name, method)) for method, label in methods]
    highest = max(v for _, c in curves for _, v in c)
    low, high = math.floor((highest - 0.10) * 50) / 50, math.ceil(highest * 100) / 100
    first = min(s for _, c in curves for s, v in c if v >= low)
    last = max(s for _, c in curves for s, _ in c)
    x = lambda s: LEFT + (RIGHT - LEFT) * math.log(s / first) / math.log(last / first)
    y = lambda v: BOTTOM - (BOTTOM - TOP) * (v - low) / (high - low)
    text = lambda at, up, what, more="": f'<text x="{at:.1f}" y="{up:.1f}" fill="#374151"{more}>{what}</text>'
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 400" font-family="sans-serif" font-size="13">',
             '<rect width="760" height="400" fill="#ffffff"/>',
             text(LEFT, 24, f"{name}: validation accuracy while training (2 cores)", ' font-size="15"')]
    for i in range(round((high - low) / 0.02) + 1):
        v = low + 0.02 * i
        if v <= high:
            parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#e5e7eb"/>')
            parts.append(text(LEFT - 8, y(v) + 4, f"{v:.2f}", ' text-anchor="end"'))
    for s in (1, 2, 5, 10, 20, 50, 100, 200):
        if first <= s <= last:
            parts.append(f'<line x1="{x(s):.1f}" x2="{x(s):.1f}" y1="{TOP}" y2="{BOTTOM}" stroke="#f3f4f6"/>')
            parts.append(text(x(s), BOTTOM + 18, s, ' text-anchor="middle"'))
    parts.append(text((LEFT + RIGHT) / 2, 388, "seconds of preparation and training (logarithmic)", ' text-anchor="middle"'))
    for i, (label, points) in enumerate(curves):
        colour, shown = COLOURS[i % len(COLOURS)], [(x(s), y(v)) for s, v in points if v >= low]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in shown)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in shown]
        # Below, where curves have not risen yet, there is room on the right.
        down = BOTTOM - 20 * (len(curves) - i)
        parts.append(f'<line x1="{RIGHT - 190}" x2="{RIGHT - 160}" y1="{down}" y2="{down}" stroke="{colour}" stroke-width="3"/>')
        parts.append(text(RIGHT - 152, down + 4, label))
    with open(out, "w") as f:
        f.write("\n".join([*parts, "</svg>", ""]))


if __name__ == "__main__":
    main()
