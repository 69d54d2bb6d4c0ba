#!/usr/bin/env python3
"""Draws validation score against training seconds of several runs as one SVG. Standard library only.

usage: scripts/plot_convergence.py OUT.svg TITLE LABEL=FILE.json...

FILE.json is the summary.json of an iglu run, or a result of the PyTorch peers (a `log` of epochs with `cum_s`, `val`).
"""
import json
import math
import sys

W, H, L, R, T, B = 760, 400, 64, 20, 44, 52
COLOURS = ["#0b6bcb", "#c2410c", "#15803d", "#7c3aed"]


def curve(path):
    with open(path, encoding="utf-8") as f:
        run = json.load(f)
    if "history" in run:
        return [(h["train_seconds"], h["val"]) for h in run["history"]]
    return [(e["cum_s"], e["val"]) for e in run["log"] if "val" in e]


def main():
    out, title, *named = sys.argv[1:]
    curves = [(label, curve(path)) for label, path in (n.split("=", 1) for n in named)]
    points = [p for _, c in curves for p in c]
    x0, x1 = math.log10(min(p[0] for p in points)), math.log10(max(p[0] for p in points))
    top = max(p[1] for p in points)
    y0, y1 = top - 0.1, top + 0.005
    x = lambda s: L + (math.log10(s) - x0) / (x1 - x0) * (W - L - R)
    y = lambda v: H - B - (max(v, y0) - y0) / (y1 - y0) * (H - T - B)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" font-size="13">',
           f'<rect width="{W}" height="{H}" fill="#ffffff"/>',
           f'<text x="{L}" y="24" font-size="15" fill="#111827">{title}</text>']
    for i in range(6):
        v = y0 + (top - y0) * i / 5
        svg.append(f'<line x1="{L}" x2="{W - R}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#e5e7eb"/>'
                   f'<text x="{L - 8}" y="{y(v) + 4:.1f}" text-anchor="end" fill="#374151">{v:.2f}</text>')
    for s in (1, 2, 5, 10, 20, 50, 100, 200, 500):
        if x0 <= math.log10(s) <= x1:
            svg.append(f'<line x1="{x(s):.1f}" x2="{x(s):.1f}" y1="{T}" y2="{H - B}" stroke="#f3f4f6"/>'
                       f'<text x="{x(s):.1f}" y="{H - B + 18}" text-anchor="middle" fill="#374151">{s}</text>')
    svg.append(f'<text x="{(L + W - R) / 2}" y="{H - 12}" text-anchor="middle" fill="#374151">training seconds (logarithmic)</text>')
    for n, (label, c) in enumerate(curves):
        colour = COLOURS[n % len(COLOURS)]
        path = " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in c)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2"/>')
        svg.append(f'<line x1="{L + 12}" x2="{L + 36}" y1="{T + 14 + 20 * n}" y2="{T + 14 + 20 * n}" stroke="{colour}" stroke-width="3"/>'
                   f'<text x="{L + 42}" y="{T + 18 + 20 * n}" fill="#111827">{label}</text>')
    svg.append("</svg>")
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(svg) + "\n")


if __name__ == "__main__":
    main()
