"""figures.py - the drawings of a report: SVG for inside a page, by matplotlib."""
import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot  # noqa: E402

from runs import curve  # noqa: E402

# Told apart by most who see few colours (the palette of Okabe and Ito); the lines
# differ in dashes as well, the bars in hatching.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#333333"]
DASHES = ["-", "--", "-.", ":"]
MARKS = ["o", "s", "^", "D", "v", "P", "X"]
SHARES = [("compute", "#0072B2", ""), ("communicate", "#E69F00", "///"),
          ("wait", "#D9D9D9", ""), ("other", "#FFFFFF", "...")]
WORKERS_SHOWN = 32
PERCENTILES = (50, 90, 95, 99)

plot.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "rondo", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"], "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#E4E4E4",
    "axes.edgecolor": "#666666", "axes.axisbelow": True, "legend.frameon": False,
    "figure.facecolor": "none", "axes.facecolor": "none", "hatch.linewidth": 0.5,
})


def colour(index):
    return COLOURS[index % len(COLOURS)]


def dash(index):
    return DASHES[(index + index // len(COLOURS)) % len(DASHES)]


class Figure:
    """A drawing and what it says in words."""

    def __init__(self, key, title, note, words, svg):
        self.key, self.title, self.note, self.words, self.svg = key, title, note, words, svg


def inline(figure, key):
    """SVG that may stand in a page beside others: no prologue, ids of its own."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None,
                                                "Format": None, "Type": None})
    plot.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{key}-", text)
    return re.sub(r'^<svg ', '<svg aria-hidden="true" focusable="false" ', text)


def canvas(height=3.2):
    figure, axes = plot.subplots(figsize=(6.2, height), layout="constrained")
    return figure, axes


def legend(axes, count):
    if count > 1:
        axes.legend(ncols=1 if count <= 4 else 2, fontsize=8)


# What stands on the axes, and how many of the records' units make one of it.
AXES = {"elapsed": ("seconds in the training loop", 1), "images": ("images, in thousands", 1e3)}


def lines(runs, key, title, x, y):
    figure, axes = canvas()
    words, grouped = [], 1
    for i, run in enumerate(runs):
        records = run.steps if y == "loss" else run.epochs
        xs, ys, size = curve(records, x, y)
        if not xs:
            continue
        label, unit = AXES[x]
        scale = 100.0 if y == "test_accuracy" else 1.0
        few = len(xs) < 30
        axes.plot([value / unit for value in xs], [scale * value for value in ys],
                  color=colour(i), linestyle=dash(i), linewidth=1.6, label=run.name,
                  marker=MARKS[i % len(MARKS)] if few else None, markersize=4)
        grouped = max(grouped, size)
        words.append(f"{run.name}: from {scale * ys[0]:.4g} to {scale * ys[-1]:.4g}")
    if not words:
        plot.close(figure)
        return None
    axes.set_xlabel(label)
    axes.set_xlim(left=0)
    axes.set_ylabel("loss" if y == "loss" else "test accuracy, %")
    legend(axes, len(words))
    note = f"Means over {grouped} records." if grouped > 1 else ""
    return Figure(key, title, note, "; ".join(words), inline(figure, key))


def unit_of(largest, units):
    return next((unit for unit in units if largest >= unit[0]), units[-1])


def step_times(runs):
    known = [(i, run, run.percentiles(PERCENTILES)) for i, run in enumerate(runs)]
    known = [row for row in known if row[2]]
    if not known:
        return None
    factor, unit = unit_of(max(max(row[2]) for row in known),
                           [(1, "s"), (1e-3, "ms"), (1e-6, "us")])
    figure, axes = canvas(1.0 + 0.32 * len(known) * len(PERCENTILES) / 2)
    thick = 0.8 / len(known)
    words = []
    for place, (i, run, values) in enumerate(known):
        at = [p + (place - (len(known) - 1) / 2) * thick for p in range(len(PERCENTILES))]
        bars = axes.barh(at, [value / factor for value in values], thick, color=colour(i),
                         edgecolor="white", label=run.name)
        axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
        words.append(f"{run.name}: " + ", ".join(
            f"p{p} {value / factor:.3g} {unit}" for p, value in zip(PERCENTILES, values)))
    axes.set_yticks(range(len(PERCENTILES)), [f"p{p}" for p in PERCENTILES])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.1)
    axes.set_xlabel(f"time of a step of one worker, {unit}")
    legend(axes, len(known))
    return Figure("times", "How long steps take", "Percentiles over all workers.",
                  "; ".join(words), inline(figure, "times"))


def staleness(runs):
    known = [(i, run, run.staleness_counts()) for i, run in enumerate(runs)]
    known = [row for row in known if row[2] and sum(row[2]) > 0]
    if not known or max(len(counts) for _, _, counts in known) == 1:
        return None
    figure, axes = canvas()
    words = []
    for i, run, counts in known:
        shares = [100.0 * count / sum(counts) for count in counts]
        edges = [value - 0.5 for value in range(len(counts) + 1)]
        axes.stairs(shares, edges, color=colour(i), linestyle=dash(i), linewidth=1.6,
                    label=f"{run.name}, mean {run.mean_staleness():.2f}")
        axes.stairs(shares, edges, fill=True, color=colour(i), alpha=0.15)
        words.append(f"{run.name}: mean {run.mean_staleness():.2f}, "
                     f"largest {len(counts) - 1}")
    axes.set_xlabel("staleness: updates between a gradient's parameters and its use")
    axes.set_ylabel("gradients, %")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    return Figure("staleness", "How stale gradients are", "", "; ".join(words),
                  inline(figure, "staleness"))


def shares(run, key):
    rows = run.shares()
    if not rows:
        return None
    chosen = list(rows)
    if len(chosen) > WORKERS_SHOWN:
        step = len(chosen) / WORKERS_SHOWN
        chosen = [chosen[int(k * step)] for k in range(WORKERS_SHOWN)]
    figure, axes = canvas(0.95 + 0.22 * len(chosen))
    left = [0.0] * len(chosen)
    for part, (name, fill, hatch) in enumerate(SHARES):
        widths = [100.0 * rows[worker][part] for worker in chosen]
        if name == "other" and max(widths) < 0.5:
            continue
        axes.barh(range(len(chosen)), widths, 0.8, left=left, color=fill, hatch=hatch,
                  edgecolor="#555555", linewidth=0.5, label=name)
        left = [a + b for a, b in zip(left, widths)]
    axes.set_yticks(range(len(chosen)), [f"worker {worker}" for worker in chosen])
    axes.invert_yaxis()
    axes.set_xlim(0, max(100.0, *left))
    axes.grid(visible=False)
    axes.set_xlabel("share of the training loop, %")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, fontsize=8,
                borderaxespad=0.2)
    means = [sum(row[part] for row in rows.values()) / len(rows) for part in range(3)]
    words = "on average {:.0f} % computing, {:.0f} % communicating, {:.0f} % waiting".format(
        *(100.0 * value for value in means))
    note = f"{WORKERS_SHOWN} of {len(rows)} workers." if len(rows) > WORKERS_SHOWN else ""
    return Figure(key, f"What workers do: {run.name}", note, words, inline(figure, key))


def bytes_per_step(runs):
    known = [(i, run, run.bytes_per_step()) for i, run in enumerate(runs)]
    known = [row for row in known if row[2] is not None]
    largest = max((value for _, _, value in known), default=0)
    if largest <= 0:
        return None
    factor, unit = unit_of(largest, [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")])
    figure, axes = canvas(0.8 + 0.35 * len(known))
    bars = axes.barh(range(len(known)), [value / factor for _, _, value in known], 0.6,
                     color=[colour(i) for i, _, _ in known])
    axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=8)
    axes.set_yticks(range(len(known)), [run.name for _, run, _ in known])
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"payload of a step of one worker, {unit}")
    words = "; ".join(f"{run.name}: {value / factor:.3g} {unit}" for _, run, value in known)
    return Figure("bytes", "What a step costs in bytes", "", words, inline(figure, "bytes"))


def draw(runs):
    """All figures there is something to show for."""
    wanted = [
        lines(runs, "loss-time", "Loss over time", "elapsed", "loss"),
        lines(runs, "loss-images", "Loss over images", "images", "loss"),
        lines(runs, "accuracy-time", "Test accuracy over time", "elapsed", "test_accuracy"),
        lines(runs, "accuracy-images", "Test accuracy over images", "images",
              "test_accuracy"),
        step_times(runs), staleness(runs), bytes_per_step(runs),
        *(shares(run, f"shares-{i}") for i, run in enumerate(runs)),
    ]
    return [figure for figure in wanted if figure is not None]
