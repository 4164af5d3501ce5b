"""Signs on a page, drawn from one file of symbols."""

from __future__ import annotations

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
