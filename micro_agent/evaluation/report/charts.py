"""The charts, as inline SVG: drawn by Vega-Lite when the report is written, offline, from figures already counted.

Colours follow the scheme of the page. Vega copies a colour that it does not know into the SVG as it is, so the ones
below are CSS variables of the page (report.css), and dark, light and print need no second drawing. Text stays text; it
names the generic font, and the page's own replaces it. Each chart is as wide as a phone, so that its text is never
scaled below what can be read.

Names of tags, checks and reasons come from others and never reach the drawing program, which some texts bring down
(version 1.9 ends the process on U+FFFE): it draws the row's number, which is replaced by the name, escaped.
"""
# The specifications are written as the JSON that they are (https://vega.github.io/vega-lite/docs/): to build them by
# objects of a library took half as long again as to draw them.

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from unicodedata import east_asian_width

import vl_convert
from markupsafe import Markup, escape

from micro_agent.evaluation.figures import Rate
from micro_agent.evaluation.report.bins import Histogram
from micro_agent.text.printable import printable

Spec = dict[str, Any]
INK, MUTED, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--line)", "var(--paper)"
MARK, BASELINE = "var(--accent)", "var(--muted)"

_WIDTH = 340
_NAMES = 122
"""The column of names, in pixels, the same in all charts, so that they line up."""
_CELLS = 17
"""The letters that fit in it in a wide font. Those of East Asian scripts count twice."""
_ROW = 22
_PLOT = 130
_STEPS: Spec = {"step": _ROW}
_PERCENT: Spec = {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1], "title": None, "ticks": False, "domain": False}
_NAMED: Spec = {
    "field": "name", "type": "nominal", "sort": None,
    "axis": {
        "minExtent": _NAMES, "maxExtent": _NAMES, "labelAlign": "left", "labelPadding": _NAMES,
        "title": None, "ticks": False, "domain": False,
    },
}  # fmt: skip
_AXIS: Spec = {
    "labelColor": MUTED, "titleColor": MUTED, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID,
    "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal",
}  # fmt: skip
_CONFIG: Spec = {
    "aria": False, "background": "transparent", "font": "sans-serif", "padding": 2, "axis": _AXIS,
    "axisY": {"labelColor": INK}, "view": {"stroke": None}, "text": {"fontSize": 11},
}  # fmt: skip


def rates_chart(rates: Mapping[str, Rate], *, title: str, description: str, overall: float | None = None) -> Markup:
    """A dot and its interval for each rate, in the order given; ``overall`` is a dashed line for the eye."""
    rows = _rows(rates.values())
    layers = [_intervals(rows, MARK), _dots(rows, MARK, filled=True)]
    if overall is not None:
        dashed: Spec = {"type": "rule", "color": INK, "strokeDash": [2, 3], "opacity": 0.7}
        layers.insert(0, _layer([{"value": overall}], dashed, x=_quantity("value")))
    return _svg(layers, _STEPS, title, description, names=rates)


def compared_chart(rates: Mapping[str, tuple[Rate, Rate]], *, title: str, description: str) -> Markup:
    """Two dots for each pair: hollow for the first (the baseline), filled for the second, a line between."""
    before = _rows(first for first, _ in rates.values())
    after = _rows(second for _, second in rates.values())
    joined = [{**a, "low": b["value"], "high": a["value"]} for a, b in zip(after, before, strict=True)]
    layers = [_intervals(joined, BASELINE), _dots(before, BASELINE, filled=False), _dots(after, MARK, filled=True)]
    return _svg(layers, _STEPS, title, description, names=rates)


def counts_chart(counts: Mapping[str, int], *, title: str, description: str) -> Markup:
    """A bar for each count, in the order given, with the number at its end."""
    rows = [{"name": _placeholder(row), "count": number} for row, number in enumerate(counts.values())]
    room = {"domain": [0, 1.15 * max(counts.values())]}  # the numbers stand in what is over
    x, text = _quantity("count", axis=None, scale=room), _quantity("count", format=",")
    bars = _layer(rows, {"type": "bar", "color": MARK, "height": 12}, x=x, y=_NAMED)
    numbers = _layer(rows, {"type": "text", "align": "left", "dx": 5, "color": INK}, x=x, y=_NAMED, text=text)
    return _svg([bars, numbers], _STEPS, title, description, names=counts)


def histogram_chart(
    binned: Histogram, marks: Mapping[str, float], *, axis: str, format: str, title: str, description: str
) -> Markup:
    """Bars over a quantity. ``marks`` are values to be shown by a line with its name; ``format`` is one of d3's."""
    rows = [
        {"from": low, "to": high, "count": n}
        for (low, high), n in zip(pairwise(binned.edges), binned.counts, strict=True)
        if n
    ]
    ends = [binned.edges[0], binned.edges[-1]]
    scale = {"type": "log" if binned.logarithmic else "linear", "domain": ends, "nice": False, "zero": False}
    measured = {
        "format": format, "title": axis, "tickCount": 4, "grid": False, "labelOverlap": True, "labelSeparation": 20
    }  # fmt: skip
    counted = {"title": "trials", "tickCount": 4, "tickMinStep": 1, "domain": False, "ticks": False}
    bars = _layer(
        rows, {"type": "bar", "color": MARK, "xOffset": 0.5, "x2Offset": -0.5},
        x=_quantity("from", scale=scale, axis=measured), x2={"field": "to"},
        y=_quantity("count", scale={"zero": True}, axis=counted), y2={"datum": 0},
    )  # fmt: skip
    layers = [bars]
    for row, (name, value) in enumerate(marks.items()):
        layers += _marked(name, value, row, right=_position(binned, value) > 0.7)
    return _svg(layers, _PLOT, title, description)


def _marked(name: str, value: float, row: int, *, right: bool) -> list[Spec]:
    """A line at a value with its name above the plot, to the side where there is room."""
    rows = [{"value": value, "name": name}]
    x, top, bottom = _quantity("value"), {"value": -6 - 14 * row}, {"value": _PLOT}
    halo = _layer(rows, {"type": "rule", "color": PAPER, "strokeWidth": 3}, x=x, y=top, y2=bottom)
    line = _layer(rows, {"type": "rule", "color": INK, "strokeDash": [3, 2]}, x=x, y=top, y2=bottom)
    side: Spec = {"align": "right", "dx": -4} if right else {"align": "left", "dx": 4}
    text = {"field": "name", "type": "nominal"}
    return [halo, line, _layer(rows, {"type": "text", "color": INK, **side}, x=x, y=top, text=text)]


def _position(binned: Histogram, value: float) -> float:
    """Where a value stands between the ends, from 0 to 1, roughly."""
    below = sum(edge <= value for edge in binned.edges)
    return below / len(binned.edges)


def _placeholder(row: int) -> str:
    return f"row{row}"


def _fitting(name: str) -> str:
    """A name, or as much of its beginning as has room."""
    text, cells = printable(name[: _CELLS + 1]), 0
    for end, letter in enumerate(text):
        cells += 2 if east_asian_width(letter) in "WF" else 1
        if cells > _CELLS:
            return f"{text[: end - 1]}…"
    return text


def _rows(rates: Iterable[Rate]) -> list[dict[str, Any]]:
    return [
        {"name": _placeholder(row), "value": rate.value, "low": rate.low, "high": rate.high}
        for row, rate in enumerate(rates)
    ]


def _intervals(rows: Sequence[Spec], color: str) -> Spec:
    x = _quantity("low", scale={"domain": [0, 1]}, axis=_PERCENT)
    return _layer(rows, {"type": "rule", "color": color, "strokeWidth": 2}, x=x, x2={"field": "high"}, y=_NAMED)


def _dots(rows: Sequence[Spec], color: str, *, filled: bool) -> Spec:
    mark: Spec = {
        "type": "point", "shape": "circle", "size": 56, "opacity": 1, "fill": color if filled else PAPER,
        "stroke": color, "strokeWidth": 2,
    }  # fmt: skip
    return _layer(rows, mark, x=_quantity("value"), y=_NAMED)


def _quantity(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", **more}


def _layer(rows: Sequence[Spec], mark: Spec, **encoding: Spec) -> Spec:
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _svg(layers: list[Spec], height: int | Spec, title: str, description: str, *, names: Iterable[str] = ()) -> Markup:
    """The drawing with a name and a description, which stand in place of its parts for who does not see it."""
    fit = {"type": "fit-x", "contains": "padding"}
    chart: Spec = {"layer": layers, "width": _WIDTH, "height": height, "autosize": fit, "config": _CONFIG}
    drawn = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
    opening, _, rest = drawn.partition(">")
    box = opening.partition('viewBox="')[2].partition('"')[0]
    labels = [escape(_fitting(name)) for name in names]
    rest = re.sub(r">row(\d+)<", lambda found: f">{labels[int(found[1])]}<", rest)
    name = escape(printable(title))
    return Markup(
        f'<svg class="chart" role="img" viewBox="{box}" aria-label="{name}">'
        f"<title>{name}</title><desc>{escape(printable(description))}</desc>{rest}"
    )
