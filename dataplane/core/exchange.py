"""One request and its response, expand rounds included; pure.

`prepare` turns the body that arrived into the body that is sent, `answer` turns the model's
recovery calls into results, `continuation` builds the next round's body. Each yields effects.
Source: 03-proxy-and-recovery.md 2.1, 2.7, 4.2 to 4.4, 5.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dataplane.core import bypass
from dataplane.core.asked import Asked
from dataplane.core.effects import Commit, Committed, Core, OpenTurn, PastTurn, Scope, SessionView
from dataplane.core.expand import repair
from dataplane.core.expand.continuing import continued
from dataplane.core.expand.recovery import CONTINUATION_MAX_BYTES, Recoveries, Recovery
from dataplane.core.expand.recovery_path import RecoveryPath, recovery_path
from dataplane.core.expand.relay import Call, ToolResult
from dataplane.core.outgoing import Outgoing
from dataplane.core.pipeline import loop
from dataplane.core.pipeline.envelope import envelope_edits
from dataplane.core.pipeline.located import located
from dataplane.core.pipeline.rewritten import rewritten
from dataplane.core.pipeline.run import Conditions, Run
from dataplane.core.port.declaration import PipelineStep
from dataplane.core.port.signals import Gate
from dataplane.core.serving.plan import Plan
from dataplane.core.session import chain, lifetime
from dataplane.core.session.chain import Link
from dataplane.core.session.lineage import prints_of
from dataplane.core.session.naming import Identity, identify
from dataplane.core.session.resend import FREE
from dataplane.core.tools import tool
from dataplane.core.wire import envelope
from dataplane.core.wire.decode import NoMessagesError, decode
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.spans import Span, UnparseableError
from dataplane.core.wire.splice import Edit, splice, string_literal

# Requests that may be repaired, and whose model is given the tool.
_OPEN = frozenset({None, bypass.SERVER_HISTORY})
# Bodies that are compacted for their caller: no provider has cached what precedes them here.
COMPACT_THREAD = "compact"


@dataclass(slots=True)
class _Shaping:
    """A request that may be shaped. path: the way back from what is removed. state: the
    pipeline's run, once it ended.
    """

    conversation: Conversation
    view: SessionView
    life: lifetime.Lifetime
    outgoing: Outgoing
    path: RecoveryPath
    state: Run | None = None


class Exchange:
    """One client request. Call prepare once, then answer and continuation per expand round.

    pristine: the body that came in. sent: the one that went out last. turn: as it was recorded,
    None for a body without messages; previous: the one before it in the same thread.
    """

    def __init__(
        self, plan: Plan, asked: Asked, *, persists: bool, clock: Callable[[], float] = float
    ) -> None:
        self._plan = plan
        self.asked = asked
        self._persists = persists
        self._clock = clock
        self._recovery = Recovery(
            Scope(asked.tenant, asked.principal, ""),
            asked.at,
            shared=plan.is_shared,
            reach=plan.recovery.keep_verbatim,
        )
        self._restraint = FREE
        self._shaping: _Shaping | None = None
        self._chain = chain.ALONE
        self.sent = b""
        self.pristine = b""
        self.turn: OpenTurn | None = None
        self.previous: PastTurn | None = None

    # ---- request side -------------------------------------------------------------------

    def prepare(self, body: bytes) -> Core[Outgoing]:
        """The body to send. Whatever cannot be shaped is sent as it came, by name."""
        self.pristine = body
        return self._sending((yield from self._prepared(body)))

    def replayed(self) -> Outgoing:
        """What is sent after `prepare` raised: earlier removals again and nothing new, because
        the provider has cached them; the body as it came where there are none.
        """
        shaping = self._shaping
        if shaping is None or shaping.view.previous is None:
            return self._sending(Outgoing(self.pristine, bypass.REWRITE_FAILED.name))
        self._restraint = self._restraint._replace(replay_only=True)
        state, spans = self._run(shaping)
        state.settle(frozenset(), {}, failed=True)
        return self._sending(self._written(shaping, state, spans))

    def _sending(self, outgoing: Outgoing) -> Outgoing:
        self.sent, self._recovery.emitted = outgoing.body, outgoing.emitted
        return outgoing

    @property
    def novelties(self) -> frozenset[str]:
        """SHA-256 (hex) of the texts that the shaped body changed for the first time."""
        state = self._shaping.state if self._shaping else None
        return state.novelties() if state else frozenset()

    @property
    def session_key(self) -> str:
        """As Scope.session_key, of the session that the request belongs to."""
        return self._recovery.scope.session_key

    @property
    def recoveries(self) -> Recoveries:
        return self._recovery.counts

    def _prepared(self, body: bytes) -> Core[Outgoing]:
        if self.asked.is_encoded:
            return Outgoing(body, bypass.ENCODED_REQUEST.name)
        try:
            self.pristine = body = self._with_model(body)
            conversation = decode(self.asked.dialect, body)
        except UnparseableError:
            return Outgoing(body, bypass.UNPARSEABLE.name)
        except NoMessagesError:
            return Outgoing(body, bypass.NO_MESSAGES.name)
        return (yield from self._shaped((yield from self._joined(conversation))))

    def _joined(self, conversation: Conversation) -> Core[Conversation]:
        """The conversation, going on with the response that its provider can continue."""
        asker = chain.Asker(self._recovery.scope, self.asked.at, self._plan.is_shared)
        if not self.asked.stays_here:
            self._chain = yield from chain.joined(asker, conversation)
        self.pristine = chain.continuing(conversation, self._chain)
        if self.pristine is conversation.body:
            return conversation
        return decode(self.asked.dialect, self.pristine)

    def _with_model(self, body: bytes) -> bytes:
        """The body with the model that the operator or the document prescribes, if any."""
        model = self.asked.force_model or self._plan.host.force_model
        if not model or self.asked.stays_here:
            return body
        return envelope.with_model(body, model)

    def _shaped(self, conversation: Conversation) -> Core[Outgoing]:
        asked = self.asked
        identity = self._identity_of(conversation)
        scope = Scope(
            asked.tenant, asked.principal, identity.session, identity.thread, identity.alias
        )
        self._recovery.scope = scope
        self._restraint = asked.restraint(scope.session_key)
        closed = self._bypass_of(conversation)
        is_open = closed in _OPEN
        if is_open:
            conversation = yield from self._recovery.repaired(conversation, self._chain.calls)
        life = lifetime.lifetime_of(
            asked.dialect.family, conversation.model, ("1h",) if conversation.offers_1h else ()
        )
        path = self._path_of(conversation, closed)
        self.turn = OpenTurn(
            scope,
            0 if self._chain.is_partial else len(conversation.messages),
            asked.at,
            life.ttl_s,
            offered=path.declares,
            decides=closed is None and self._plan.decides,
            reach=self._plan.recovery.keep_verbatim,
        )
        view: SessionView = yield self.turn
        self.previous = view.previous
        if self.previous is not None and self.previous.offered:
            path = self._path_of(conversation, closed, was_offered=True)
        outgoing = self._outgoing(conversation, closed, path)
        outgoing.identity = identity
        if is_open:
            self._shaping = _Shaping(conversation, view, life, outgoing, path)
            yield from self._rewrite(self._shaping)
        return outgoing

    def _outgoing(
        self, conversation: Conversation, closed: Gate | None, path: RecoveryPath
    ) -> Outgoing:
        """The request as it is before anything is decided about it."""
        intercepts = path.watches and closed is not bypass.OBSERVE
        return Outgoing(
            conversation.body if closed in _OPEN else self.pristine,
            bypassed=closed.name if closed else "",
            model=conversation.model,
            streams=conversation.streams,
            stores=conversation.value("store") != b"false",
            compacted=not self._chain.is_partial
            and lifetime.was_compacted(self.previous, len(conversation.messages)),
            intercepts=intercepts,
            answers=path.answers,
            links=intercepts and self._persists and self._chain.stores,
            continued=self._chain.renamed,
        )

    def _identity_of(self, conversation: Conversation) -> Identity:
        asked = self.asked
        identity = identify(
            conversation,
            session_header=asked.session_header,
            agent_header=asked.agent_header,
            keys=asked.keys,
        )
        if asked.stays_here:
            return Identity(identity.session, thread=COMPACT_THREAD)
        identity = self._chain.owner(identity)
        if identity.thread or self._chain.is_owners(identity):
            return identity
        session = Scope(asked.tenant, asked.principal, identity.session).session_key
        lineage = asked.thread_of(session, prints_of(conversation.messages))
        return identity._replace(thread=lineage) if lineage else identity

    def _bypass_of(self, conversation: Conversation) -> Gate | None:
        plan = self._plan
        if self.asked.wants_bypass:
            return bypass.HEADER
        if plan.kill.bypass:
            return bypass.KILL_SWITCH
        if plan.only_measures:
            return bypass.OBSERVE
        if conversation.has_server_history and not self.asked.shapes_parts:
            return bypass.SERVER_HISTORY
        return bypass.AGENT_COMPACTION if bypass.is_agent_compaction(conversation) else None

    def _path_of(
        self, conversation: Conversation, closed: Gate | None, *, was_offered: bool = False
    ) -> RecoveryPath:
        """How the model may ask for what this request is sent without (03 §4.2).

        Whether the tool is declared depends on the snapshot and the client's own tools, never on
        the turn: a tools array that comes and goes would flip the whole cached prefix.
        """
        keeps = closed in _OPEN and self._persists and not self.asked.stays_here
        return recovery_path(
            conversation,
            offers=keeps and not self._restraint.bare and self._plan.offers_recovery,
            always=self._plan.host.inject_expand == "always",
            was_offered=was_offered,
        )

    def _rewrite(self, shaping: _Shaping) -> Core[None]:
        state, spans = self._run(shaping)
        shaping.state = state
        refused = yield from self._commit(state)
        shaping.outgoing.stash_refused = refused
        self._written(shaping, state, spans)

    def _run(self, shaping: _Shaping) -> tuple[Run, dict[int, Span]]:
        """The pipeline's changes, and where in the body they go."""
        conversation = shaping.conversation
        given = self._conditions(shaping)
        state = loop.run(self._steps(shaping), conversation.messages, given)
        return state, located(conversation, state)

    def _steps(self, shaping: _Shaping) -> Sequence[PipelineStep]:
        return () if shaping.outgoing.bypassed else self._plan.steps

    def _written(self, shaping: _Shaping, state: Run, spans: dict[int, Span]) -> Outgoing:
        """The body with what still stands of the changes, and the tool that gives them back."""
        conversation, outgoing = shaping.conversation, shaping.outgoing
        outgoing.report = None if outgoing.bypassed else state.report
        if self.asked.captures:
            outgoing.rewritten = rewritten(conversation, state, spans)
        edits = [
            Edit(spans[index], string_literal(changes[-1].text.text))
            for index, changes in state.changes.items()
        ]
        if not self._restraint.bare:
            edits += envelope_edits(self._steps(shaping), conversation, state.report)
        if shaping.path.declares:
            edits += envelope.declare_tool(conversation, tool.DECLARED[conversation.dialect])
            outgoing.declares = True
        outgoing.body = splice(conversation.body, edits)
        outgoing.emitted = state.emitted()
        return outgoing

    def _conditions(self, shaping: _Shaping) -> Conditions:
        conversation, view, life = shaping.conversation, shaping.view, shaping.life
        previous = view.previous
        if previous is not None:
            life = life.widened(previous.ttl_s)
        idle = lifetime.idle_s(previous, self.asked.at)
        shaping.outgoing.cache_phase = lifetime.phase(life, idle).value
        host = self._plan.host
        return Conditions(
            view,
            cache_aware=lifetime.is_cache_aware(
                host.cache_mode,
                self.asked.dialect.family,
                has_breakpoints=conversation.marks > 0,
                reported=lifetime.was_reported(previous, life, self.asked.at),
            ),
            cached_through=self._cached_through(shaping),
            cache_is_cold=lifetime.is_cold(life, idle),
            persists=self._persists,
            window=self.asked.window_of(conversation.model),
            recoverable=shaping.path.redeems
            or self.asked.stays_here
            or not host.recovery_require_path,
            stopped=self._plan.kill.no_new_offloads,
            recovered=repair.answered_calls(conversation) | self._chain.calls.keys(),
            clock=self._clock,
            replay_only=self._restraint.replay_only,
            verbatim=self._restraint.verbatim,
        )

    def _cached_through(self, shaping: _Shaping) -> int:
        """Of a conversation that the provider holds, what a request brings is new to it."""
        if self._chain.is_partial:
            return -1
        return lifetime.cached_through(shaping.view.previous, len(shaping.conversation.messages))

    def _commit(self, state: Run) -> Core[int]:
        """Write before emit: no marker leaves before its original is durable.

        Returns how many removals were taken back because the store refused their originals.
        """
        payloads = state.payloads()
        decisions = state.decisions()
        if not payloads and not decisions:
            return 0
        before = len(state.changes)
        committed: Committed = yield Commit(
            self._recovery.scope, self.asked.at, payloads, decisions
        )
        state.settle(committed.durable, committed.refused, failed=committed.failed)
        return before - len(state.changes)

    def resent(self, outgoing: Outgoing) -> None:
        """The body that came in was sent after the shaped one: nothing was removed after all."""
        self.sent = outgoing.body = self.pristine
        self._recovery.emitted = outgoing.emitted = frozenset()
        outgoing.bypassed, outgoing.report = bypass.PRISTINE_RESENT.name, None
        outgoing.rewritten = ()

    # ---- response side ------------------------------------------------------------------

    def answer(self, calls: Sequence[Call]) -> Core[list[ToolResult]]:
        """One result per call, in call order: the original, or an explicit placeholder."""
        room = CONTINUATION_MAX_BYTES - len(self.sent)
        return (yield from self._recovery.answer(calls, room_bytes=room))

    def taken(self) -> Core[None]:
        """The last continuation was taken: what it gave back counts from now on."""
        return self._recovery.taken()

    def continuation(
        self, items: Iterable[bytes], *, is_last: bool = False, container: bytes = b""
    ) -> bytes:
        """The next round's body. is_last: no call of ours could be answered after it, so the model
        is not given the tool any more. container: as of Answer.
        """
        name, collects = self.asked.dialect.list_name, self._chain.collects
        self.sent = continued(self.sent, name, items, collects=collects)
        if container:
            self.sent = envelope.in_container(self.sent, container)
        if is_last and self._shaping is not None and self._shaping.path.declares:
            self.sent = envelope.withdraw_tool(self.sent, tool.DECLARED[self.asked.dialect])
        return self.sent

    def ended(self, shown: str, ended: str, calls: Sequence[Call]) -> Core[bool]:
        """Keep by which id an answer goes on, before the client learns the other one.

        shown: the id that the client knows. ended: of the round that ended the answer. calls: of
        ours that the client has to answer. False when it could not be kept.
        """
        scope = self._recovery.scope
        links = self._chain.links(shown, Link(ended, scope.session, scope.thread), calls)
        return (yield from chain.kept(scope, self.asked.at, links))
