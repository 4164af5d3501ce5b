"""Django for a command that works on a deployment which is there: it makes none by looking."""

from __future__ import annotations

import django

from controlplane.cli.settings import refuse_nothing_here


def set_up() -> None:
    """SettingsError, which `headrace` says in one line, where there is no deployment."""
    refuse_nothing_here()
    from controlplane.settings.environment import name_settings_module  # it makes what is missing

    name_settings_module()
    django.setup()
