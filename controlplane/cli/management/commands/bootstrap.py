"""manage.py bootstrap: a usable deployment, for people and for scripts (00 §3)."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from controlplane.cli import database, printed, welcome
from controlplane.cli.bootstrapping import Bootstrapped, Wanted, bootstrap
from controlplane.settings import ENVIRONMENT
from dataplane.core.config.problems import ConfigError
from dataplane.settings import from_environment

EXIT_INVALID = 3


class Command(BaseCommand):
    help = "Create the first manager, a tenant, its upstreams and a key; keep what exists."
    requires_system_checks: list[str] = []  # noqa: RUF012  as Django declares it

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--upstream", action="append", default=[], metavar="DIALECT=URL")
        parser.add_argument("--document", type=Path, metavar="FILE")
        parser.add_argument("--rotate", action="store_true", help="replace existing secrets")
        parser.add_argument("--allow-insecure", action="store_true", help="plain http anywhere")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *_args: Any, **options: Any) -> None:
        wanted = as_wanted(options)
        # By its name: only asgi.py may import what is the node's own.
        import_module("dataplane.preflight").refuse_unusable(from_environment())
        try:
            with database.set_up_alone(ENVIRONMENT.data_dir):
                database.migrate_both()
                made = bootstrap(wanted)
        except ConfigError as error:
            self.refuse(error, wanted, options)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        self.stdout.write(as_json(made) if options["as_json"] else as_text(made))

    def refuse(self, error: ConfigError, wanted: Wanted, options: dict[str, Any]) -> NoReturn:
        """Lines for people on stderr, with --json the error objects for programs on stdout."""
        file, source = str(options["document"]), wanted.document or ""
        self.stderr.write(printed.problems(error.problems, file, source))
        if options["as_json"]:
            self.stdout.write(msgspec.json.encode({"errors": error.problems}).decode())
        sys.exit(EXIT_INVALID)


def as_wanted(options: dict[str, Any]) -> Wanted:
    try:
        document = options["document"].read_text(encoding="utf-8") if options["document"] else None
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandError(f"--document: {problem}") from problem
    return Wanted(
        tenant=options["tenant"],
        admin_email=ENVIRONMENT.admin_email,
        admin_password=ENVIRONMENT.admin_password,
        upstreams=dict(pair(text) for text in options["upstream"]),
        allow_insecure=options["allow_insecure"] or ENVIRONMENT.allow_insecure_upstreams,
        document=document,
        rotate=options["rotate"],
    )


def pair(text: str) -> tuple[str, str]:
    dialect, equals, url = text.partition("=")
    if not equals:
        raise CommandError(f"--upstream takes DIALECT=URL, not {text!r}")
    return dialect, url


def as_json(made: Bootstrapped) -> str:
    fields = {
        "admin": {"email": made.email, "password": made.password},
        "organisation": made.organisation,
        "tenant": made.tenant,
        "data_plane_key": made.data_plane_key,
        "api_token": made.api_token,
        "base_url": ENVIRONMENT.base_url,
    }
    return json.dumps(fields)


def as_text(made: Bootstrapped) -> str:
    return welcome.block(made, ENVIRONMENT.base_url)
