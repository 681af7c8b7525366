"""Small charts as inline SVG: a front, a curve, a histogram. Colours are those of the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from certree.tree import format_number

WIDTH, HEIGHT = 640, 260
RIGHT, TOP, BOTTOM = 16, 14, 44
LETTER = 6.5
"""The width of a letter, about."""
LARGE_LETTER = 10.5
"""The same on a telephone, where letters are larger than the picture around them."""


@dataclass(frozen=True)
class Series:
    """Points that are drawn in one way."""

    name: str
    style: str
    """The class of its marks: "own", "held" or "line"."""
    points: Sequence[tuple[float, float]]
    reach: Sequence[float] = ()
    """Half the height of each point's error bar; empty for none."""
    is_line: bool = field(default=True, kw_only=True)
    names: Sequence[str] = field(default=(), kw_only=True)
    """What stands beside each point; empty for nothing."""


def draw_chart(title: str, x_name: str, y_name: str, series: Sequence[Series]) -> str:
    """Points and lines over two axes."""
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points]
    ys += [y + sign * r for one in series for (_, y), r in zip(one.points, one.reach) for sign in (-1, 1)]  # noqa: B905
    y_axis = _Axis.over(ys, HEIGHT - BOTTOM, TOP)
    x_axis = _Axis.over(xs, _leave_room(y_axis), WIDTH - RIGHT)
    parts = [_draw_axes(x_axis, y_axis, x_name, y_name)]
    for one in series:
        places = [(x_axis.place(x), y_axis.place(y)) for x, y in one.points]
        if one.is_line and len(places) > 1:
            parts.append(f'<polyline class="{one.style}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
        for reach, (x, _), (_, height) in zip(one.reach, places, one.points):  # noqa: B905
            low, high = y_axis.place(height - reach), y_axis.place(height + reach)
            parts.append(f'<line class="{one.style}" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
        parts += [
            f'<circle class="{one.style}" data-place="{place}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
            for place, (x, y) in enumerate(places)
        ]
        parts += [_name_point(name, x, y) for name, (x, y) in zip(one.names, places)]  # noqa: B905
    legend = "".join(f'<li class="{one.style}">{escape(one.name)}</li>' for one in series)
    return f'{_wrap(title, "".join(parts))}<ul class="legend">{legend}</ul>'


def _name_point(name: str, x: float, y: float) -> str:
    """A name below a point and to its right, where that is within the picture."""
    fits = x + 8 + LETTER * len(name) <= WIDTH - RIGHT
    at, anchor = (x + 8, "start") if fits else (x - 8, "end")
    height = y + 16 if y + 16 < HEIGHT - BOTTOM else y - 7
    return f'<text class="name" x="{at:.1f}" y="{height:.1f}" text-anchor="{anchor}">{escape(name)}</text>'


def draw_histogram(title: str, x_name: str, edges: Sequence[float], counts: Sequence[int]) -> str:
    """Bars over intervals."""
    y_axis = _Axis.over([0.0, float(max(counts, default=0)) or 1.0], HEIGHT - BOTTOM, TOP)
    x_axis = _Axis.over([edges[0], edges[-1]], _leave_room(y_axis), WIDTH - RIGHT)
    bars = []
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        x, end, y = x_axis.place(low), x_axis.place(high), y_axis.place(count)
        bars.append(
            f'<rect class="bar" x="{x:.1f}" width="{max(end - x - 1, 0.5):.1f}" y="{y:.1f}" '
            f'height="{y_axis.place(0) - y:.1f}"><title>{escape(_number(low))} to {escape(_number(high))}: '
            f"{count:,}</title></rect>"
        )
    return _wrap(title, _draw_axes(x_axis, y_axis, x_name, "rows") + "".join(bars))


@dataclass(frozen=True)
class _Axis:
    """A line from values to places on the picture."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if not high > low:
            margin = abs(low) / 2 or 1.0
            low, high = low - margin, high + margin
        step = _nice((high - low) / 4)
        first, last = math.floor(low / step), math.ceil(high / step)
        ticks = tuple(step * number for number in range(first, last + 1))
        return cls(ticks[0], ticks[-1], start, end, ticks)

    def place(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)


def _leave_room(y_axis: _Axis) -> float:
    """Where the picture begins: to the right of the axis' name and of its longest number."""
    return 34 + LARGE_LETTER * max(len(_number(tick)) for tick in y_axis.ticks)


def _nice(step: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(nice * power for nice in (1, 2, 5, 10) if nice * power >= step * (1 - 1e-9))


def _draw_axes(x_axis: _Axis, y_axis: _Axis, x_name: str, y_name: str) -> str:
    base, left, parts = HEIGHT - BOTTOM, x_axis.start, []
    for tick in x_axis.ticks:
        x = x_axis.place(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{base}"/>')
        parts.append(f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">{_number(tick)}</text>')
    for tick in y_axis.ticks:
        y = y_axis.place(tick)
        parts.append(f'<line class="grid" x1="{left}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    parts.append(
        f'<text x="{(left + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_name)}</text>'
    )
    middle = (TOP + base) / 2
    parts.append(
        f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{escape(y_name)}</text>'
    )
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e4 and value == round(value) else format_number(value, 4)


def _wrap(title: str, content: str) -> str:
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{content}</svg>'
