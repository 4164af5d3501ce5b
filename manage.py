#!/usr/bin/env python
"""Django's command line for the control plane."""

import sys

from dataplane.settings import SettingsError


def main() -> None:
    try:
        # Already the import of the package reads the environment.
        from controlplane.settings.environment import name_settings_module

        name_settings_module()
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except SettingsError as problem:
        sys.exit(f"headrace: {problem}")


if __name__ == "__main__":
    main()
