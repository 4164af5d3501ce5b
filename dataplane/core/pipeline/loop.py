"""Run components in order over the messages of one request.

A component decides; this module does: it composes the replacement, compares tokens with the
marker counted in, collects originals and decisions to make durable, and takes a component's
changes back as a whole when it raised, grew the request, or dropped content without a stash.
Source: 01-components.md 1.3, 1.4, 1.5, 1.7.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from dataplane.core.effects import FrozenDecision, Payload
from dataplane.core.pipeline.held_back import held_back
from dataplane.core.pipeline.run import Change, Conditions, Run
from dataplane.core.port.declaration import Kind, PipelineStep
from dataplane.core.port.gates import (
    MARKER_NO_WIN,
    NO_NEW_OFFLOADS,
    NO_RECOVERY_PATH,
    OFFLOAD_GATES,
    READ_BY_CODE,
    REFUSED_BY_PROVIDER,
    REPLAY_ONLY,
    STASH_UNAVAILABLE,
)
from dataplane.core.port.report import RunReport, StepReport
from dataplane.core.port.signals import Event, Gate
from dataplane.core.port.turn import (
    Decline,
    Happened,
    Offload,
    Replay,
    Rewrite,
    Step,
    ToolOutput,
    Turn,
)
from dataplane.core.text import marker
from dataplane.core.text.content import Content
from dataplane.core.wire.message import Message, Role

UNDECLARED = "other"
NO_KEY = "offload dropped content without stashing a cache_key"


class NoKeys(msgspec.Struct, frozen=True):
    """The configuration of a component that takes none."""


def run(steps: Sequence[PipelineStep], messages: Sequence[Message], given: Conditions) -> Run:
    """Every component in order; each sees the texts that those before it left behind."""
    total = sum(message.content.tokens for message in messages)
    state = Run(messages, given, RunReport(total, total), tokens=total)
    places = _places(messages, given.view.owned)
    for number, step in enumerate(steps):
        if step.declaration.decide is not None:
            _run_step(state, number, step, places)
        else:
            state.report.steps.append(_idle(step, state.tokens))
    state.report.tokens_after = state.tokens
    # Against what is sent in the end: a later component may have made the same text smaller.
    gained = (state.text_of(index).tokens - left for index, left in state.held.items())
    state.report.held = sum(tokens for tokens in gained if tokens > 0)
    state.report.attempted = _attempted(state)
    return state


def _idle(step: PipelineStep, tokens: int) -> StepReport:
    declaration = step.declaration
    return StepReport(declaration.name, declaration.kind, tokens, tokens, skipped=True)


def _attempted(state: Run) -> int:
    """Tokens of the messages that were open to decisions: behind the prefix, or replayed."""
    given = state.conditions
    free_from = given.cached_through + 1 if given.cache_aware and not given.cache_is_cold else 0
    return sum(
        message.content.tokens
        for index, message in enumerate(state.messages)
        if index >= free_from or index in state.changes
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A tool output among the messages: its index, how many earlier ones are the very same text,
    and whether it came with a marker that was minted here.
    """

    index: int
    occurrence: int
    is_marked: bool


def _places(messages: Sequence[Message], owned: Collection[str]) -> list[_Place]:
    """The tool outputs of a request that the model reads.

    A marker that nobody here minted is text like any other: planting one must not keep content
    from being compacted (03 §3.4).
    """
    seen: dict[bytes, int] = {}
    places = []
    for index, message in enumerate(messages):
        if message.role is Role.TOOL and not message.call.is_by_code:
            key = message.content.digest
            occurrence = seen[key] = seen.get(key, -1) + 1
            found = marker.find(message.content.text)
            places.append(_Place(index, occurrence, any(each in owned for each in found)))
    return places


def _run_step(state: Run, number: int, step: PipelineStep, places: list[_Place]) -> None:
    given = state.conditions
    report = StepReport(step.declaration.name, step.declaration.kind, state.tokens, state.tokens)
    if by_code := sum(message.call.is_by_code for message in state.messages):
        report.gates[READ_BY_CODE.name] += by_code
    started = given.clock()
    doing = _Doing(state, number, step, report)
    try:
        outputs = tuple(_output(state, place) for place in places)
        doing.perform(outputs)
        doing.hold_back(outputs)
    except Exception as error:  # noqa: BLE001  one component's fault reverts that component alone
        report.reverted, report.error = True, f"panic: {type(error).__name__}: {error}"
    report.duration_ms = (given.clock() - started) * 1000
    state.report.steps.append(report)
    doing.conclude()


def _output(state: Run, place: _Place) -> ToolOutput:
    message = state.messages[place.index]
    changes = state.changes.get(place.index, ())
    return ToolOutput(
        place.index,
        changes[-1].text if changes else message.content,
        message.content,
        rewritable=message.rewritable,
        occurrence=place.occurrence,
        call_id=message.call_id,
        carries_marker=place.is_marked
        or any(change.ids or change.irreversible for change in changes),
        recovered=message.call_id in state.conditions.recovered,
    )


def _payload(original: Content, *, renews: bool) -> Payload:
    return Payload(original.marker_id, original.utf8, renews, sha256=original.digest)


class _Doing:
    """One component at work on one request."""

    def __init__(self, state: Run, number: int, step: PipelineStep, report: StepReport) -> None:
        self._state = state
        self._number = number
        self._declaration = step.declaration
        self._config = step.config
        self._report = report
        self._turn = self._told()
        self._changes: dict[int, Change] = {}
        self._declared = {gate.name for gate in (*step.declaration.gates, *OFFLOAD_GATES)}
        self._declared_events = {event.name for event in step.declaration.events}

    def perform(self, outputs: tuple[ToolOutput, ...]) -> None:
        decide = self._declaration.decide
        assert decide is not None  # noqa: S101  envelope components never come here
        by_index = {output.index: output for output in outputs}
        for step in decide(outputs, self._config or NoKeys(), self._turn):
            self._take(step, by_index)

    def hold_back(self, outputs: tuple[ToolOutput, ...]) -> None:
        """Note what an expired cache would have let it remove, had its document."""
        given = self._state.conditions
        if given.stopped or given.replay_only or not (given.recoverable and given.view.available):
            return
        held = held_back(self._declaration, self._config, outputs, self._turn)
        for index in held.keys() - self._changes.keys():
            self._state.held.setdefault(index, held[index])

    def _told(self) -> Turn:
        """What the component is told of the request."""
        given = self._state.conditions
        name = self._declaration.name
        return Turn(
            cache_aware=given.cache_aware,
            cached_through=given.cached_through,
            cache_is_cold=given.cache_is_cold,
            frozen=given.view.frozen.get(name, {}),
            by_call=self._declaration.calls_model,
            lost=given.view.lost.get(name, frozenset())
            if self._declaration.repairable
            else frozenset(),
            kept=given.view.kept,
            window=given.window,
        )

    def _take(self, step: Step, outputs: dict[int, ToolOutput]) -> None:
        match step:
            case Offload() | Rewrite() | Replay() if self._is_barred(outputs[step.index]):
                self._decline(REFUSED_BY_PROVIDER)
            case Decline(gate=gate, index=index):
                if index is not None:
                    self._looked_up(outputs[index])
                self._decline(gate)
            case Happened(event=event, count=count):
                self._happened(event, count)
            case Replay(index=index):
                self._replay(outputs[index])
            case Rewrite(index=index, text=text):
                self._rewrite(outputs[index], text)
            case Offload():
                self._looked_up(outputs[step.index])
                self._offload(outputs[step.index], step)

    def _is_barred(self, output: ToolOutput) -> bool:
        barred = self._state.conditions.verbatim
        return bool(barred) and output.original.sha256 in barred

    def _decline(self, gate: Gate) -> None:
        self._report.gates[self._known(gate.name, self._declared)] += 1

    def _happened(self, event: Event, count: int) -> None:
        self._report.events[self._known(event.name, self._declared_events)] += count

    def _known(self, name: str, declared: set[str]) -> str:
        if name in declared:
            return name
        self._report.undeclared.add(name)
        return UNDECLARED

    def _looked_up(self, output: ToolOutput) -> None:
        """The component had to decide anew: it found no frozen decision, or may not follow it."""
        if not (self._declaration.freezes and output.rewritable):
            return
        if self._turn.decision_about(output) is None:
            self._report.misses += 1
        elif self._turn.is_kept(output):
            self._report.abandoned += 1

    def _replay(self, output: ToolOutput) -> None:
        text = self._turn.decision_about(output)
        if text is None:
            raise ValueError("there is no decision about this text")
        ids = tuple(marker.find(text))
        payload = _payload(output.original, renews=True) if ids else None
        self._changes[output.index] = Change(
            self._number, Content(text), ids, payload, fresh=False, irreversible=not ids
        )
        self._report.replays += 1

    def _rewrite(self, output: ToolOutput, text: str) -> None:
        content = Content(text)
        if content.tokens < output.tokens:
            fold = f"cg:fold:{output.content.digest.hex()}"
            self._changes[output.index] = Change(self._number, content, fold=fold)

    def _offload(self, output: ToolOutput, wanted: Offload) -> None:
        mode = getattr(self._config, "marker_mode", "full")
        if mode == "full" and not self._state.conditions.persists:
            mode = "off"
        if closed := self._closed(output, in_full=mode == "full"):
            self._decline(closed)
            return
        key = output.original.marker_id
        token = {"full": marker.token(key) + wanted.hint, "summary": marker.SENTINEL}.get(mode, "")
        text = Content(wanted.before + token + wanted.after)
        if text.tokens >= output.tokens:
            self._decline(MARKER_NO_WIN)
            return
        self._changes[output.index] = self._change(
            output, wanted, text, key if mode == "full" else None
        )

    def _closed(self, output: ToolOutput, *, in_full: bool) -> Gate | None:
        """Why nothing new may be removed now; what this session removed before still may."""
        given = self._state.conditions
        if self._was_removed(output, in_full=in_full):
            return None
        if given.stopped:
            return NO_NEW_OFFLOADS
        if given.replay_only:
            return REPLAY_ONLY
        if not in_full:
            return None
        if not given.view.available:
            return STASH_UNAVAILABLE
        return None if given.recoverable else NO_RECOVERY_PATH

    def _was_removed(self, output: ToolOutput, *, in_full: bool) -> bool:
        """On an earlier turn of this session; that its owner removed the same text from another
        one does not count. A component that freezes nothing leaves no trace of its own: what stood
        there on the previous turn, it derives again.
        """
        given = self._state.conditions
        if in_full and output.original.marker_id not in given.view.owned:
            return False
        if not self._declaration.freezes:
            return output.index <= given.cached_through
        name, view = self._declaration.name, given.view
        decided = (view.frozen.get(name, {}), view.lost.get(name, frozenset()))
        return any(output.decision_key in known for known in decided)

    def _change(
        self, output: ToolOutput, wanted: Offload, text: Content, key: str | None
    ) -> Change:
        ids = (key,) if key else ()
        owned = key in self._state.conditions.view.owned
        payload = _payload(output.original, renews=owned) if key else None
        decision = None
        if self._declaration.freezes:
            decided = self._turn.key_of(output)
            decision = FrozenDecision(self._declaration.name, decided, text.text, ids)
        return Change(
            self._number, text, ids, payload, decision, irreversible=not key, event=wanted.event
        )

    def conclude(self) -> None:
        """Accept or revert the component's changes as a whole, and complete its report."""
        report, state = self._report, self._state
        delta = sum(
            change.text.tokens - state.text_of(index).tokens
            for index, change in self._changes.items()
        )
        if not report.error:
            self._judge(delta)
        if report.reverted or not self._changes:
            report.skipped = not report.reverted
            return
        for index, change in self._changes.items():
            before = state.text_of(index).tokens
            state.changes.setdefault(index, []).append(change)
            self._credit(change, before - change.text.tokens)
        report.tokens_after = state.tokens = state.tokens + delta

    def _judge(self, delta: int) -> None:
        changes = self._changes.values()
        if delta > 0:
            self._report.reverted = True
        elif self._declaration.kind is Kind.OFFLOAD and any(
            not change.ids and not change.irreversible for change in changes
        ):
            self._report.reverted, self._report.error = True, NO_KEY

    def _credit(self, change: Change, saved: int) -> None:
        self._report.irreversible |= change.irreversible
        self._report.credit(change.keys, saved, fresh=change.fresh)
        if change.event is not None:
            self._happened(change.event, 1)
