"""manage.py serve: set up once and serve everything on one port; what `make run` calls."""

from __future__ import annotations

import signal
import socket
from argparse import ArgumentParser
from contextlib import ExitStack
from importlib import import_module
from typing import Any

import uvicorn
from django.core.management.base import BaseCommand, CommandError

from controlplane.accounts import vault
from controlplane.accounts.models import Tenant
from controlplane.accounts.queries import managers
from controlplane.cli import database, simulated, welcome
from controlplane.cli.bootstrapping import Wanted, bootstrap
from controlplane.configs.released import adopt_release
from controlplane.settings import ENVIRONMENT
from dataplane.core.door import route
from dataplane.door import raise_limit
from dataplane.server import KEEP_ALIVE_S, GuardedProtocol
from dataplane.settings import from_environment

FIRST_TENANT = "demo"
DRAIN_S = 25
FRAME_MAX_BYTES = 64 << 10  # of a websocket: a live page asks for topics and sends nothing else


class Command(BaseCommand):
    help = "Migrate, bootstrap at the first start, and serve pages and traffic."
    requires_system_checks: list[str] = []  # noqa: RUF012  as Django declares it

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default=FIRST_TENANT, metavar="SLUG")

    def handle(self, *_args: Any, **options: Any) -> None:
        signal.signal(signal.SIGTERM, stop)
        refuse_unusable()
        refuse_taken_address()
        with ExitStack() as stack:
            with database.set_up_alone(ENVIRONMENT.data_dir):
                database.migrate_both()
                refuse_unreadable_secrets()
                adopt_release()
                place = simulated.place_of(ENVIRONMENT.data_dir)
                port = simulated_port(place)
                self.stdout.write(greeting(options["tenant"], port), ending="\n\n")
            if port is not None:
                stack.enter_context(simulated.running(port, place))
            self.stdout.flush()
            serve()


def refuse_unusable() -> None:
    """What a node could not start with is said before anything is made, and a secret shown."""
    # By its name: only asgi.py may import what is the node's own.
    import_module("dataplane.preflight").refuse_unusable(from_environment())


def refuse_taken_address() -> None:
    """Before the first start shows secrets for a server that then does not come up."""
    host, port = ENVIRONMENT.host, ENVIRONMENT.port
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as problem:
        said = f"HEADRACE_BIND={ENVIRONMENT.bind} cannot be listened on: {problem.strerror}."
        raise CommandError(said) from problem


def refuse_unreadable_secrets() -> None:
    """Not to find out when a provider asks for the key (04 §8.5)."""
    try:
        vault.refuse_unreadable()
    except vault.UnreadableSecretsError as problem:
        raise CommandError(str(problem)) from problem


def stop(_signal: int, _frame: object) -> None:
    """uvicorn raises the signal again once it has drained; the child must be stopped then."""
    raise SystemExit(0)


def simulated_port(place: simulated.Place) -> int | None:
    """Where the simulated provider listens, None when nobody needs it."""
    is_first = not Tenant.objects.exists()
    if simulated.is_chosen() or (is_first and not ENVIRONMENT.upstreams):
        return simulated.ensure_upstreams(place)
    return None


def greeting(tenant: str, port: int | None) -> str:
    """Bootstraps a deployment without tenants and tells how to use it; else where to sign in."""
    if Tenant.objects.exists():
        manager = managers().first()
        return welcome.reminder(manager.email if manager else "", ENVIRONMENT.base_url)
    url = f"http://{simulated.HOST}:{port}"
    upstreams = ENVIRONMENT.upstreams or dict.fromkeys(simulated.DIALECTS, url)
    wanted = Wanted(
        tenant=tenant,
        admin_email=ENVIRONMENT.admin_email,
        admin_password=ENVIRONMENT.admin_password,
        upstreams=upstreams,
        allow_insecure=ENVIRONMENT.allow_insecure_upstreams,
    )
    made = bootstrap(wanted)
    return welcome.block(made, ENVIRONMENT.base_url, is_simulated=port is not None)


class Protocol(GuardedProtocol):
    """Pages and traffic come by the same door."""

    def is_page(self, method: str, path: str) -> bool:
        return not route.is_data_plane(method, path)


def serve() -> None:
    raise_limit()
    uvicorn.run(
        "controlplane.asgi:application",
        host=ENVIRONMENT.host,
        port=ENVIRONMENT.port,
        loop="uvloop",
        http=Protocol,
        timeout_keep_alive=KEEP_ALIVE_S,
        lifespan="on",
        access_log=False,
        proxy_headers=False,  # HEADRACE_TRUSTED_PROXIES says whom to believe, and we read it
        log_level="warning",
        ws_max_size=FRAME_MAX_BYTES,
        timeout_graceful_shutdown=DRAIN_S,
    )
