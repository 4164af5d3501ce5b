"""What people send about presets."""

from __future__ import annotations

from django import forms


class CloneForm(forms.Form):
    name = forms.SlugField(
        max_length=40,
        error_messages={
            "required": "Name the copy.",
            "invalid": "A name has lower-case letters, digits and hyphens, a letter first.",
        },
    )
