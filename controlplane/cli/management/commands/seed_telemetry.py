"""manage.py seed_telemetry: invented traffic, to try the pages at the size of a real one."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.accounts.models import Tenant
from controlplane.cli import database
from controlplane.telemetry.seeding import Plan, seed
from dataplane.core.components import components

COMPONENTS_MAX = 10


class Command(BaseCommand):
    help = "Add invented request records, sessions and counters to the telemetry database."
    requires_system_checks: list[str] = []  # noqa: RUF012  as Django declares it

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--requests", type=int, default=1_000_000, metavar="N")
        parser.add_argument("--tenant", action="append", default=[], metavar="SLUG")
        parser.add_argument("--hours", type=int, default=24, help="over how long they are spread")
        parser.add_argument("--runs", type=int, default=20_000, help="newest with component rows")

    def handle(self, *_args: Any, **options: Any) -> None:
        database.migrate_both()
        tenants = Tenant.objects.order_by("pk")
        if options["tenant"]:
            tenants = tenants.filter(slug__in=options["tenant"])
        uids = list(tenants.values_list("uid", flat=True))
        if not uids:
            raise CommandError("there is no such tenant; manage.py bootstrap makes one")
        seed(
            Plan(
                options["requests"],
                uids,
                list(components())[:COMPONENTS_MAX],
                until=time.time_ns() // 1_000_000,
                span_s=options["hours"] * 3600,
                runs=options["runs"],
            )
        )
        self.stdout.write(f"{options['requests']} requests of {len(uids)} tenants")
