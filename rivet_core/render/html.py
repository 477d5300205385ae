"""The plan as one HTML page: no script, nothing loaded from elsewhere, every text escaped; a `rivet_renderers` record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from rivet_core.facts.plural import several
from rivet_core.render.quantities import count, seconds, size, span

STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem;color:#1b1f24;background:#fff}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8dee4;"
    "vertical-align:top}td.n,th.n{text-align:right}.high,.very_high{font-weight:600}.muted{color:#57606a}"
    "details{margin:.4rem 0}summary{cursor:pointer}ul{margin:.3rem 0}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#30363d}.muted{color:#8b949e}}"
)


def render_html(plan: Mapping[str, Any]) -> str:
    """Return the page of a plan mapping (plan.json)."""
    by_name = {export["name"]: export for export in plan["exports"]}
    ranked = [by_name[name] for name in plan["campaign"]["ordered_exports"]]
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>Rivet plan {_text(plan['plan_id'])}</title><style>{STYLE}</style></head><body>",
        f"<h1>{several(len(ranked), 'export')}, planned {_text(plan['as_of'])}</h1>",
        _facts(plan["campaign"]),
        _table(ranked),
        _unplannable(plan["exports"]),
        _list("What must not run together", _warnings(plan["campaign"])),
        _list("What would help", _what_ifs(plan["campaign"])),
        "<h2>Why</h2>",
        *(_explanation(export) for export in ranked),
        f'<p class="muted">Rivet {_text(plan["rivet_version"])}, {_text(plan["seal"])}</p></body></html>',
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _text(value: object) -> str:
    return escape(str(value), quote=True)


def _facts(campaign: Mapping[str, Any]) -> str:
    bound, predicted = campaign["lower_bound"], campaign["predicted"]
    return (
        f"<p>Lower bound <b>{seconds(bound['seconds'])}</b>: {_text(bound['binding']['explanation'])}.<br>"
        f"Predicted <b>{seconds(predicted['makespan_seconds'])}</b> with {_text(predicted['policy'])} and "
        f"{_text(predicted['workers'])} workers.</p>"
    )


def _table(ranked: Iterable[Mapping[str, Any]]) -> str:
    head = "".join(
        f"<th{' class=n' if title in ('#', 'wave') else ''}>{title}</th>"
        for title in ("#", "wave", "export", "group", "priority", "cost", "risk", "moves", "predicted")
    )
    rows = "".join(_row(rank, export) for rank, export in enumerate(ranked, start=1))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(rank: int, export: Mapping[str, Any]) -> str:
    wave = export["wave"] if export["wave"] is not None else export["recommended_wave"]
    predicted, estimated = export["predicted_seconds"], export["estimated"]
    heavy = " (heavy)" if export["heavy"] else ""
    moves = "unknown"
    if estimated["bytes"] is not None:
        moves = size(estimated["bytes"])
    elif estimated["rows"] is not None:
        moves = f"{count(estimated['rows'])} rows"
    return (
        f"<tr><td class=n>{rank}</td><td class=n>{_text(wave)}</td>"
        f'<td><a href="#{_text(export["name"])}">{_text(export["name"])}</a></td><td>{_text(export["source_group"])}</td>'
        f"<td class={_text(export['priority_class'])}>{_text(export['priority_class'])} {export['priority_score']:.1f}</td>"
        f"<td class={_text(export['cost_class'])}>{_text(export['cost_class'])}{heavy}</td>"
        f"<td class={_text(export['risk_class'])}>{_text(export['risk_class'])}</td><td>{moves}</td>"
        f"<td>{span(predicted['p10'], predicted['p90'])}</td></tr>"
    )


def _unplannable(exports: Iterable[Mapping[str, Any]]) -> str:
    found = [export for export in exports if export["status"] == "unplannable"]
    return _list(
        "Cannot be planned",
        [f"{export['name']}: {export['error']['message']} {export['error']['hint']}" for export in found if export["error"]],
    )


def _warnings(campaign: Mapping[str, Any]) -> list[str]:
    warnings = [f"{item['code']} {item['group']}: {item['message']}" for item in campaign["source_group_warnings"]]
    return [*warnings, *campaign["concurrency_hints"]]


def _what_ifs(campaign: Mapping[str, Any]) -> list[str]:
    bound = campaign["lower_bound"]["seconds"]
    return [
        f"{item['change']}: lower bound {seconds(item['lower_bound_seconds'])}"
        for item in campaign["what_ifs"]
        if item["lower_bound_seconds"] < 0.99 * bound
    ]


def _list(title: str, lines: list[str]) -> str:
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<h2>{_text(title)}</h2><ul>{items}</ul>" if lines else ""


def _explanation(export: Mapping[str, Any]) -> str:
    scores = ", ".join(f"{name} {value}" for name, value in export["scores"].items())
    items = "".join(_reason(reason) for reason in export["reasons"])
    return (
        f'<details id="{_text(export["name"])}"><summary><b>{_text(export["name"])}</b> {_text(export["strategy"])}; '
        f"{_text(scores)}</summary><ul>{items}</ul></details>"
    )


def _reason(reason: Mapping[str, Any]) -> str:
    points = f"{reason['points']:+d} {reason['dimension']} " if reason["dimension"] else ""
    remedy = f'<br><span class="muted">remedy: {_text(reason["remedy"])}</span>' if reason["remedy"] else ""
    return f"<li>{points}<b>{_text(reason['code'])}</b> {_text(reason['message'])}{remedy}</li>"
