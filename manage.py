#!/usr/bin/env python
"""Django's command line for the control plane."""

import sys

from django.core.management import execute_from_command_line

from controlplane.settings.environment import name_settings_module


def main() -> None:
    name_settings_module()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
