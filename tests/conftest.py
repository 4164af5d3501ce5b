"""What holds for every test: where skips are allowed, and one option that core runs must know."""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import httpx
import hypothesis
import pytest

from dataplane.simulator.server import Simulator
from tests.servers import RedisServer, redis_server

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}  # noqa: TID251  no settings in tests

# Machines differ; a slow example is no failure, a wrong one is. CI tries the same ones each time:
# what is found by luck is found where somebody can look at it.
hypothesis.settings.register_profile(
    "headrace",
    deadline=None,
    derandomize=IN_CI,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "nightly", hypothesis.settings.get_profile("headrace"), derandomize=False, max_examples=2_000
)
# tests/examples.py scales what a property asks for by the same measure.
hypothesis.settings.register_profile(
    "fast", hypothesis.settings.get_profile("headrace"), max_examples=20
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "headrace"))  # noqa: TID251


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Core tests run without pytest-django, whose setting stands in the shared configuration."""
    if not pluginmanager.hasplugin("django"):
        parser.addini("DJANGO_SETTINGS_MODULE", "read by pytest-django only")


# They start processes and wait for them; begun last, they would keep one worker busy alone.
LONG = ("journeys", "controlplane/cli", "controlplane/api", "dataplane/recovery_cases")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole files in another order: those that take long come first."""
    here = Path(__file__).parent
    long = tuple(here / name for name in LONG)
    items.sort(key=lambda item: not any(item.path.is_relative_to(place) for place in long))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failed one: a machine that lacks something must say so."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """In CI a failure is named when it happens: a run that is cut short has no summary."""
    if IN_CI and report.failed and report.when not in {"setup", "teardown"}:
        return "failed", f"\nfailed: {report.nodeid}\n", "FAILED"
    return None


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Each client reads those of every authority, which takes as long as a whole small test."""
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(httpx.create_ssl_context)
        patch.setattr("httpx._transports.default.create_ssl_context", once)
        yield


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    """A simulated provider of the test's own, on a free loopback port."""
    async with Simulator() as provider:
        yield provider


@pytest.fixture(scope="session")
def redis_running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis of the tests' own, with its append-only file."""
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_url(redis_running: RedisServer) -> str:
    """Where there is an empty Redis."""
    redis_running.client().flushall()
    return redis_running.url
