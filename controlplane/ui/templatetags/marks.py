"""Signs on a page, drawn from one file of symbols."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


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
