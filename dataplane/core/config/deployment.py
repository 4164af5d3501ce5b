"""What is said of a document because of where it would run: policy, upstreams, prices, nodes.

Each fact may be unknown, and then nothing is said about it: a document on a shelf is checked by
the same function. Source: 04-controlplane-and-dashboard.md 2.5, fourth table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from dataplane.core.config.imposed import Imposed
from dataplane.core.config.merge import Merge
from dataplane.core.config.problems import Edit, Problem, problem, with_edits
from dataplane.core.config.registry import SCHEMA_VERSION
from dataplane.core.config.tree import Path, pointer, spoken, steps_of
from dataplane.core.prices import catalogue
from dataplane.core.prices.money import undated


@dataclass(frozen=True, slots=True)
class Policy:
    """What the organisation allows. by_manager: whoever writes manages the deployment."""

    llm_components: Literal["allow", "manager_only", "deny"] = "allow"
    irreversible_marker_modes: Literal["ack", "deny"] = "ack"
    by_manager: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An enabled upstream of the deployment."""

    name: str
    dialect: str
    base_url: str


@dataclass(frozen=True, slots=True)
class Ability:
    """What a targeted node says that it can run."""

    node: str
    components: frozenset[str]
    schema: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Rested:
    """What cold_cache would have spared the tenant in its last week.

    usd: as text, "0.42". rests: turns that found the cache expired, in so many sessions. tokens:
    that could have gone. unpriced: turns that are not in usd. is_whole: nothing of the week is
    missing.
    """

    usd: str
    rests: int
    sessions: int
    tokens: int
    unpriced: int = 0
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is known of the deployment; None is unknown.

    endpoints: enabled upstreams. chosen: dialect to the upstream that the tenant selected.
    secrets: names in scope. compaction_model: whether there is one. priced: model names, or
    their beginnings ending in "*". hosted: nodes are shared, so no path of theirs may be named.
    nodes: those that a rollout would reach; starting: it starts now. imposed: what the
    environment of the node sets above every document. rested: None where the tenant's sessions
    do not rest, or it does not pay.
    """

    endpoints: tuple[Endpoint, ...] | None = None
    chosen: Mapping[str, str] | None = None
    secrets: frozenset[str] | None = None
    compaction_model: bool | None = None
    priced: tuple[str, ...] | None = None
    hosted: bool = False
    nodes: tuple[Ability, ...] = ()
    starting: bool = False
    imposed: tuple[Imposed, ...] = ()
    rested: Rested | None = None


ANY_POLICY = Policy()
NOWHERE = Deployment()


def rules(merge: Merge, policy: Policy, here: Deployment) -> Iterator[Problem]:
    """Everything that the place has to say about a merged document."""
    yield from _policy(merge, policy, here)
    yield from _upstreams(here)
    yield from _dialects(merge, here)
    for name in merge.effective.pipeline:
        yield from _models(merge, name, here)
    yield from _forced_model(merge, here)
    yield from _nodes(merge, here)
    yield from _imposed(merge, here)
    yield from _cold_cache(merge, here)


def _policy(merge: Merge, policy: Policy, here: Deployment) -> Iterator[Problem]:
    allowed = policy.llm_components == "allow" or (
        policy.llm_components == "manager_only" and policy.by_manager
    )
    who = (
        "only a manager of the deployment may" if policy.llm_components != "deny" else "nobody may"
    )
    for name in merge.effective.pipeline:
        if merge.components[name].calls_model and not allowed:
            reason = f"It calls a model of its own, and {who} enable such components."
            facts = {"component": name, "name": name, "reason": reason}
            yield merge.about(merge.entry(name), "config.policy_forbidden", **facts)
    at = ("components", "cache_aware_summarizer", "profiles_path")
    if here.hosted and merge.get(*at) is not None:
        reason = "Nodes are shared here, and a file of theirs is nobody's to name."
        facts = {"name": "profiles_path", "reason": reason}
        yield merge.about(at, "config.policy_forbidden", **facts)


def _upstreams(here: Deployment) -> Iterator[Problem]:
    """The tenant's selection stands beside its document, so these have no line."""
    if here.endpoints is None:
        return
    known = {endpoint.name: endpoint for endpoint in here.endpoints}
    for dialect, name in (here.chosen or {}).items():
        facts = {"name": name, "dialect": dialect, "known": ", ".join(known) or "none"}
        path: Path = ("upstreams", dialect)
        if name not in known:
            yield problem("config.upstream_not_found", path, None, **facts)
        elif known[name].dialect != dialect:
            facts["actual"] = known[name].dialect
            yield problem("config.upstream_dialect_mismatch", path, None, **facts)


def _dialects(merge: Merge, here: Deployment) -> Iterator[Problem]:
    for name in merge.effective.pipeline if here.chosen is not None else ():
        wanted = merge.components[name].dialects
        if (
            merge.components[name].calls_model
            and wanted
            and not set(wanted) & set(here.chosen or ())
        ):
            facts = {"component": name, "dialects": ", ".join(wanted)}
            yield merge.about(merge.entry(name), "config.sweep_dialect_unsupported", **facts)


def _models(merge: Merge, component: str, here: Deployment) -> Iterator[Problem]:
    at = ("components", component, "model")
    if here.compaction_model is False and merge.get(*at, "source") == "config":
        yield merge.about((*at, "source"), "config.no_compaction_model", component=component)
    model = merge.get(*at, "model")
    if model is not None and not _has_price(model, here):
        yield merge.about((*at, "model"), "config.model_unpriced", name=model)
    url = merge.get(*at, "base_url")
    allowed = [endpoint.base_url for endpoint in here.endpoints or ()]
    if url is not None and here.endpoints is not None and url.rstrip("/") not in allowed:
        facts = {"name": f"model.base_url of {component}", "known": ", ".join(allowed) or "none"}
        yield merge.about((*at, "base_url"), "config.url_not_allowed", **facts)
    yield from _secret(merge, (*at, "api_key"), here)


def _secret(merge: Merge, at: tuple[str, ...], here: Deployment) -> Iterator[Problem]:
    reference = merge.get(*at)
    name = str(reference).removeprefix("secret:")
    if reference is not None and here.secrets is not None and name not in here.secrets:
        known = ", ".join(sorted(here.secrets))
        facts = {"name": name, "known": f"Secrets of this scope: {known or 'none'}."}
        yield merge.about(at, "config.secret_not_found", **facts)


def _forced_model(merge: Merge, here: Deployment) -> Iterator[Problem]:
    model = merge.get("force_model")
    if model is not None and not _has_price(model, here):
        yield merge.about(("force_model",), "config.model_unpriced", name=model)


def _has_price(model: str, here: Deployment) -> bool:
    """As a price card finds it: whole, without its date, or by how it begins; or it is listed."""
    listed = catalogue.find(model)
    if here.priced is None or (listed is not None and listed.model.prices):
        return True
    name = model.lower()
    known = {entry.lower() for entry in here.priced}
    stems = tuple(entry.removesuffix("*") for entry in known if entry.endswith("*"))
    return name in known or undated(name) in known or name.startswith(stems)


def _nodes(merge: Merge, here: Deployment) -> Iterator[Problem]:
    wanted = set(merge.effective.pipeline)
    old = [one.node for one in here.nodes if one.schema < SCHEMA_VERSION]
    poor = [one.node for one in here.nodes if not wanted <= one.components]
    lacking = sorted({name for one in here.nodes for name in wanted - one.components})
    for names, reason in (
        (poor, f"They do not have: {', '.join(lacking)}."),
        (old, f"They speak a schema older than {SCHEMA_VERSION}."),
    ):
        if names:
            facts = {"count": len(names), "all": len(here.nodes), "nodes": ", ".join(names)}
            found = merge.about(("pipeline",), "config.node_capability", **facts, reason=reason)
            yield replace(found, severity="error" if here.starting else "warning")


def _imposed(merge: Merge, here: Deployment) -> Iterator[Problem]:
    """A key that is written and does not count, because the node's own environment does."""
    for one in here.imposed:
        path = steps_of(one.path)
        written = merge.written.get(path)
        if written is not None and written.leaf.value != one.value:
            facts = {"name": spoken(path), "variable": one.variable, "setting": str(one)}
            yield merge.about(path, "config.overridden_by_environment", **facts)


def _cold_cache(merge: Merge, here: Deployment) -> Iterator[Problem]:
    """A tenant whose sessions rest is told what that costs; the key stays off by default."""
    sleeping = [
        name
        for name in merge.effective.pipeline
        if merge.get("components", name, "cold_cache") is False
    ]
    if here.rested is None or not sleeping or merge.get("cache", "mode") == "off":
        return
    path: Path = ("components", sleeping[0], "cold_cache")
    at = path if path in merge.written else merge.entry(sleeping[0])
    facts = {"component": sleeping[0], "usd": here.rested.usd, "basis": basis_of(here.rested)}
    found = merge.about(at, "advice.cold_cache_pays", **facts)
    yield with_edits(found, "set", Edit("set", pointer(path), value=True))


def basis_of(rested: Rested) -> str:
    """What the figure rests on, in a sentence or two."""
    said = (
        f"In the last 7 days {rested.sessions} of its sessions rested until the prompt cache had "
        f"expired, {rested.rests} times in all, and could have gone on with {rested.tokens:,} "
        "tokens less."
    )
    if rested.unpriced:
        said += f" {rested.unpriced} turns without a known price or usage are left out."
    if not rested.is_whole:
        said += " Some reports of the week are missing, so it is a lower bound."
    return said + " What the model would have asked back is not known."
