"""Signs on a page, drawn from one file of symbols."""

from __future__ import annotations

import re
from datetime import datetime

from django import template
from django.templatetags.static import static
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from controlplane.ui.watch.charts import Chart

register = template.Library()
DAYS_FROM_STEP_S = 900  # such steps make up more than a day, so their times need one


@register.simple_tag
def icon(name: str) -> SafeString:
    """The symbol `name` of static/img/icons.svg; a reader skips it, so words must say the same."""
    return format_html(
        '<svg class="i" aria-hidden="true"><use href="{}#{}"/></svg>',
        static("img/icons.svg"),
        name,
    )


@register.simple_tag
def moment(at: datetime | None) -> SafeString | str:
    """A time in UTC, which page.js turns into the reader's zone; nothing for None."""
    if at is None:
        return ""
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        at.isoformat(timespec="seconds"),
        f"{at:%Y-%m-%d %H:%M:%S}",
        f"{at.day} {at:%b %H:%M} UTC",
    )


@register.filter
def coded(sentence: str) -> SafeString:
    """What stands between back quotes as code; everything else is escaped."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence)))  # noqa: S308


@register.simple_tag
def clock(at: datetime | None) -> SafeString | str:
    """The same to the second, without the day."""
    if at is None:
        return ""
    return format_html(
        '<time datetime="{}" title="{} UTC" data-clock>{} UTC</time>',
        at.isoformat(timespec="seconds"),
        f"{at:%Y-%m-%d %H:%M:%S}",
        f"{at:%H:%M:%S}",
    )


@register.simple_tag
def chart_rows(chart: Chart) -> SafeString:
    """The rows of a chart's table, oldest first: hundreds of them, so they are not looped over."""
    clock = " data-clock" if chart.step_s < DAYS_FROM_STEP_S else ""
    return format_html_join(
        "\n",
        f'<tr data-at="{{}}"><th scope="row"><time datetime="{{}}"{clock}>{{}}</time></th>'
        "{}</tr>",
        (
            (
                row.at,
                row.moment.isoformat(timespec="seconds"),
                f"{row.moment:%H:%M:%S}",
                _cells(row.cells),
            )
            for row in chart.rows
        ),
    )


def _cells(cells: tuple[str, ...]) -> SafeString:
    return format_html_join("", '<td class="num">{}</td>', ((cell,) for cell in cells))
