"""How a form's fields look: the design's field, with its label, hint and problem (04 §5.0).

A form is told in Python (label, choices, hint, what is wrong) and placed by its template.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.renderers import TemplatesSetting
from django.http import QueryDict

CLASSLESS = (forms.CheckboxInput, forms.CheckboxSelectMultiple, forms.RadioSelect)


class FieldsAsDesigned(TemplatesSetting):
    """Django's renderer with the project's template for a field."""

    field_template_name = "forms/field.html"


class DesignedForm(forms.Form):
    """ids: what the identifiers of its fields begin with, so that two forms share a page."""

    ids = "f"

    def __init__(
        self, sent: QueryDict | None = None, *, initial: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(
            sent, initial=dict(initial or {}), auto_id=f"{self.ids}-%s", label_suffix=""
        )
        for field in self.fields.values():
            if not isinstance(field.widget, CLASSLESS):
                field.widget.attrs.setdefault("class", "input")

    def refuse(self, refused: ValidationError, field: str | None = None) -> None:
        """Show why an action did not take what the form holds, beside the field it is about.

        What the refusal says about fields that the form lacks is said about the whole.
        """
        if not hasattr(refused, "error_dict"):
            self.add_error(field, refused)
            return
        for name, errors in refused.error_dict.items():
            self.add_error(name if name in self.fields else field, errors)
