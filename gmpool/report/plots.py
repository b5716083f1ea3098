"""Pictures of a comparison: intervals per set, and the critical-difference diagram over all."""

import math

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gmpool.report.comparison import Comparison
from gmpool.report.figures import COLOURS, label_text, new_figure, png
from gmpool.report.metrics import METRICS, with_unit
from gmpool.report.statistics import cliques, interval

OURS, PAPER, OVER_FOLDS = COLOURS[0], COLOURS[1], "#8fb3cc"


def intervals(comparison: Comparison) -> bytes:
    """A PNG with a panel per set that has rows: means, 95 % intervals, the paper's means."""
    c = comparison
    datasets = [d for d in c.datasets if d in c.metrics]
    across = min(5, len(datasets))
    down = math.ceil(len(datasets) / across)
    room = 0.5 + 0.08 * max(len(label_text(label)) for label in c.labels)
    width = max(5.0, room + 2.7 * across)
    figure = new_figure(width, 0.4 + (0.9 + 0.23 * len(c.labels)) * down)
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for axes, dataset in zip(panels, datasets, strict=False):
        _panel(axes, c, dataset)
    for axes in panels[len(datasets) :]:
        axes.set_visible(False)
    shown = {label: handle for axes in panels for handle, label in _handles(axes)}
    figure.legend(
        list(shown.values()),
        list(shown),
        loc="outside upper center",
        ncols=min(len(shown), int(width / 2.4)),
        frameon=False,
        fontsize=9,
    )
    return png(figure)


def _handles(axes: Axes) -> list[tuple[Artist, str]]:
    return list(zip(*axes.get_legend_handles_labels(), strict=True))


def _panel(axes: Axes, c: Comparison, dataset: str) -> None:
    """Two scores say so little that their interval would leave the others no room: it is cut. So
    is what no score can be, such as 127 %."""
    metric = METRICS[c.metrics[dataset]]
    share = metric.unit == "%"
    least = 0.0 if share or not metric.higher else -math.inf  # errors begin at 0 as well
    most = 100.0 if share else math.inf
    shown: list[float] = []
    for height, label in enumerate(c.labels):
        score = c.scores[label, dataset]
        if score.paper is not None:
            axes.plot(score.paper.mean, height, "o", markersize=7, markerfacecolor="none",
                      color=PAPER, label="paper")  # fmt: skip
            shown.append(score.paper.mean)
        if score.mean is None:
            continue
        colour = OURS if score.over == "seeds" else OVER_FOLDS
        ends = interval(score.scores)
        ends = ends and (max(least, ends[0]), min(most, ends[1]))
        if ends and len(score.scores) > 2:
            axes.plot(ends, (height, height), color=colour, linewidth=2,
                      label=f"95 % interval over {score.over}")  # fmt: skip
            shown += ends
        elif ends:
            axes.plot(ends, (height, height), ":", color=colour, linewidth=1.5,
                      label=f"over two {score.over}, cut by the frame")  # fmt: skip
        axes.plot(score.mean, height, "o", markersize=4, color=OURS, label="mean")
        shown.append(score.mean)
    low, high = min(shown, default=0.0), max(shown, default=1.0)
    margin = 0.05 * (high - low) or 1.0
    axes.set_xlim(low - margin, high + margin)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], prune="both"))
    over = dict.fromkeys(
        s.over for label in c.labels if (s := c.scores[label, dataset]).std is not None
    )
    unit = with_unit(c.metrics[dataset])
    said = f"{unit}, 95 % interval over {' or '.join(over)}" if over else unit
    axes.set_xlabel(said, fontsize=8)
    axes.set_title(label_text(dataset, 30), fontsize=10)
    axes.set_yticks(range(len(c.labels)), [label_text(label) for label in c.labels], fontsize=9)
    axes.set_ylim(len(c.labels) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def critical_differences(comparison: Comparison) -> bytes | None:
    """A PNG with the average ranks on an axis; a thick bar joins lines that do not differ.

    After Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", 2006. None
    where `no_diagram` says why.
    """
    c = comparison
    difference = c.critical_difference
    if difference is None or c.friedman is None:
        return None
    names = sorted(c.ranks, key=c.ranks.__getitem__)
    groups = cliques(c.ranks, difference)
    half = math.ceil(len(names) / 2)
    below = 0.25 + 0.22 * len(groups)  # the bars come between axis and names
    depth = below + 0.32 * half
    figure = new_figure(10, 1.2 + 0.75 * depth)
    axes = figure.subplots()
    _axis(axes, len(names), difference)
    for level, group in enumerate(groups):
        ends = [c.ranks[group[0]] - 0.06, c.ranks[group[-1]] + 0.06]
        height = -0.22 * (level + 1)
        axes.plot(ends, [height] * 2, color=OURS, linewidth=4, solid_capstyle="butt")
    reach = 0.04 * len(names)
    for number, name in enumerate(names):
        left = number < half
        row = number if left else len(names) - 1 - number
        height, rank = -below - 0.32 * row, c.ranks[name]
        edge = 1 - reach if left else len(names) + reach
        axes.plot([rank, rank, edge], [0, height, height], color="#444", linewidth=0.9)
        shown = label_text(name, 40)
        text = f"{shown}  {rank:.2f} " if left else f" {rank:.2f}  {shown}"
        axes.text(edge, height, text, ha="right" if left else "left", va="center", fontsize=10)
    axes.set_ylim(-depth, 1.1)
    axes.set_title(
        f"average rank over {len(c.ranked_on)} sets (1 is the best); Friedman p = {c.friedman:.2g}",
        fontsize=10,
    )
    return png(figure)


def no_diagram(comparison: Comparison) -> str:
    """Why there is no diagram; nothing where there is one."""
    c = comparison
    if c.critical_difference is not None and c.friedman is not None:
        return ""
    return (
        f"There is no critical-difference diagram: it takes 2 sets on which all lines have scores, "
        f"and 3 lines; here are {len(c.ranked_on)} and {len(c.ranks)}."
    )


def _axis(axes: Axes, count: int, difference: float) -> None:
    """Ranks 1 … count at height 0, and the critical difference as a scale above."""
    axes.set_axis_off()
    axes.plot([1, count], [0, 0], color="black", linewidth=1.2)
    for rank in range(1, count + 1):
        axes.plot([rank, rank], [0, 0.1], color="black", linewidth=1)
        axes.text(rank, 0.16, str(rank), ha="center", va="bottom", fontsize=9)
    end = 1 + difference
    axes.plot([1, 1, 1, end, end, end], [0.66, 0.8, 0.73, 0.73, 0.66, 0.8], color="black",
              linewidth=1)  # fmt: skip
    axes.text((1 + end) / 2, 0.8, f"critical difference {difference:.2f}", ha="center",
              va="bottom", fontsize=9)  # fmt: skip
