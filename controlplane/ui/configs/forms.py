"""What people send when they save a document."""

from __future__ import annotations

from django import forms

MAX_SOURCE = 256 * 1024  # bytes, as the validator's own limit (04 §1.2)


class SourceField(forms.CharField):
    """A document. Browsers send line ends as CR LF; it is kept, and measured, with LF."""

    def to_python(self, value: object) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class DocumentForm(forms.Form):
    """source is kept to the letter; based_on: the version the author saw, 0 for none."""

    source = SourceField(
        max_length=MAX_SOURCE,
        strip=False,
        error_messages={
            "required": "The text is empty. A document needs at least one line.",
            "max_length": "The text is longer than 256 KiB.",
        },
    )
    message = forms.CharField(
        min_length=3,
        max_length=500,
        error_messages={
            "required": "Say in a few words what changes, and why.",
            "min_length": "Say in a few words what changes, and why.",
        },
    )
    based_on = forms.IntegerField(min_value=0)
