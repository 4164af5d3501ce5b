"""Prompt-cache accounting as the providers do it (00 §3, 03 §2.5 and 2.9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.simulator.cache import Block, BreakpointCache, CacheUse, StepCache

OWNER = b"key\0model"


def prompt(*sizes: int, marks: dict[int, int] | None = None, salt: str = "") -> list[Block]:
    """Blocks of these sizes in tokens. marks: lifetime in seconds by block index, -1 the last."""
    lifetimes = {index % len(sizes): seconds for index, seconds in (marks or {}).items()}
    return [
        Block(f"{salt}{index}:{size}".encode(), size, lifetimes.get(index, 0))
        for index, size in enumerate(sizes)
    ]


def test_the_first_request_writes_up_to_its_mark_and_the_rest_is_fresh() -> None:
    cache = BreakpointCache()

    use = cache.use(OWNER, prompt(2000, 500, 30, marks={1: 300}), now=0)

    assert use == CacheUse(read=0, written_5m=2500, written_1h=0, fresh=30)


def test_a_longer_request_reads_what_the_earlier_one_wrote() -> None:
    cache = BreakpointCache()
    cache.use(OWNER, prompt(2000, 500, marks={-1: 300}), now=0)

    use = cache.use(OWNER, prompt(2000, 500, 40, 60, marks={-1: 300}), now=100)

    assert use == CacheUse(read=2500, written_5m=100, written_1h=0, fresh=0)


def test_a_changed_block_is_read_only_up_to_the_mark_before_it() -> None:
    cache = BreakpointCache()
    cache.use(OWNER, prompt(2000, 500, 700, marks={0: 300, 2: 300}), now=0)

    use = cache.use(OWNER, prompt(2000, 501, 700, marks={0: 300, 2: 300}), now=1)

    assert use == CacheUse(read=2000, written_5m=1201, written_1h=0, fresh=0)


def test_a_prefix_is_found_only_where_an_earlier_request_was_marked() -> None:
    cache = BreakpointCache()
    cache.use(OWNER, prompt(2000, 500, 700, marks={2: 300}), now=0)

    use = cache.use(OWNER, prompt(2000, 500, 701, marks={2: 300}), now=1)

    assert use.read == 0


@pytest.mark.parametrize(
    ("added", "read"),
    [pytest.param(19, 2000, id="19-blocks-later"), pytest.param(20, 0, id="20-blocks-later")],
)
def test_the_search_goes_back_twenty_blocks_the_marked_one_included(added: int, read: int) -> None:
    cache = BreakpointCache()
    cache.use(OWNER, prompt(2000, marks={0: 300}), now=0)

    use = cache.use(OWNER, prompt(2000, *[10] * added, marks={-1: 300}), now=1)

    assert use.read == read


@pytest.mark.parametrize(
    ("lifetime", "idle", "is_read"),
    [
        pytest.param(300, 299, True, id="5m-warm"),
        pytest.param(300, 300, False, id="5m-expired"),
        pytest.param(3600, 3599, True, id="1h-warm"),
        pytest.param(3600, 3600, False, id="1h-expired"),
    ],
)
def test_an_entry_lives_as_long_as_its_mark_says(
    *, lifetime: int, idle: float, is_read: bool
) -> None:
    cache = BreakpointCache()
    blocks = prompt(2000, marks={0: lifetime})
    cache.use(OWNER, blocks, now=50)

    assert (cache.use(OWNER, blocks, now=50 + idle).read == 2000) is is_read


def test_every_read_gives_the_entry_its_whole_lifetime_again() -> None:
    cache = BreakpointCache()
    blocks = prompt(2000, marks={0: 300})

    reads = [cache.use(OWNER, blocks, now=at).read for at in (0, 250, 500, 750)]

    assert reads == [0, 2000, 2000, 2000]


def test_a_prefix_below_the_minimum_is_neither_written_nor_read() -> None:
    cache = BreakpointCache(minimum=1024)
    blocks = prompt(1023, marks={0: 300})

    uses = [cache.use(OWNER, blocks, now=0) for _ in range(2)]

    assert uses == [CacheUse(fresh=1023)] * 2


def test_hour_and_five_minute_marks_are_billed_apart() -> None:
    cache = BreakpointCache()
    first = cache.use(OWNER, prompt(2000, 300, 40, marks={0: 3600, 1: 300}), now=0)

    after_ten_minutes = cache.use(OWNER, prompt(2000, 300, 40, marks={0: 3600, 1: 300}), now=600)

    assert first == CacheUse(read=0, written_5m=300, written_1h=2000, fresh=40)
    assert after_ten_minutes == CacheUse(read=2000, written_5m=300, written_1h=0, fresh=40)


def test_another_owner_reads_nothing() -> None:
    cache = BreakpointCache()
    blocks = prompt(2000, marks={0: 300})
    cache.use(OWNER, blocks, now=0)

    assert cache.use(b"other\0model", blocks, now=0).read == 0


def test_the_oldest_entries_go_when_the_capacity_is_reached() -> None:
    cache = BreakpointCache(capacity=10)
    for number in range(30):
        cache.use(OWNER, prompt(2000, marks={0: 300}, salt=str(number)), now=0)

    reads = [
        cache.use(OWNER, prompt(2000, marks={0: 300}, salt=str(number)), now=0).read
        for number in (29, 0)
    ]

    assert reads == [2000, 0]


@st.composite
def marked_prompts(draw: st.DrawFn) -> list[Block]:
    sizes = draw(st.lists(st.integers(1, 900), min_size=1, max_size=30))
    indexes = draw(st.sets(st.integers(0, len(sizes) - 1), max_size=4))
    hours = draw(st.integers(0, len(indexes)))
    lifetimes = [3600] * hours + [300] * (len(indexes) - hours)
    return prompt(*sizes, marks=dict(zip(sorted(indexes), lifetimes, strict=True)))


@given(prompts=st.lists(marked_prompts(), min_size=1, max_size=5))
def test_read_written_and_fresh_add_up_to_the_prompt(prompts: list[list[Block]]) -> None:
    cache = BreakpointCache()
    for at, blocks in enumerate(prompts):
        use = cache.use(OWNER, blocks, now=at * 100)

        assert use.total == sum(block.tokens for block in blocks)
        assert min(use.read, use.written_5m, use.written_1h, use.fresh) >= 0


@given(blocks=marked_prompts())
def test_a_repeated_request_reads_up_to_its_last_mark_and_writes_nothing(
    blocks: list[Block],
) -> None:
    cache = BreakpointCache(minimum=1)
    cache.use(OWNER, blocks, now=0)
    last = max((index for index, block in enumerate(blocks) if block.mark_s), default=-1)

    use = cache.use(OWNER, blocks, now=1)

    assert use.read == sum(block.tokens for block in blocks[: last + 1])
    assert use.written == 0


@given(blocks=marked_prompts())
def test_after_an_hour_nothing_is_read(blocks: list[Block]) -> None:
    cache = BreakpointCache(minimum=1)
    first = cache.use(OWNER, blocks, now=0)

    assert cache.use(OWNER, blocks, now=3600) == first


# OpenAI: prompts are bytes, four to a token


def test_a_prompt_is_cached_by_itself_from_1024_tokens_in_steps_of_128() -> None:
    cache = StepCache()
    text = bytes(range(256)) * 20  # 1280 tokens

    first, again = (cache.use(OWNER, text, now=0) for _ in range(2))

    assert (first.read, first.written, first.total) == (0, 1152, 1280)
    assert (again.read, again.written, again.fresh) == (1152, 0, 128)


def test_a_prompt_of_fewer_tokens_than_the_minimum_is_all_fresh() -> None:
    cache = StepCache()

    uses = [cache.use(OWNER, b"x" * 4 * 1024, now=0) for _ in range(2)]

    assert uses == [CacheUse(fresh=1024)] * 2


@given(common=st.integers(0, 12_000), tail=st.integers(1, 6000))
def test_the_longest_common_prefix_is_read_rounded_down_to_a_step(common: int, tail: int) -> None:
    cache = StepCache()
    shared = (b"0123456789abcdef" * 800)[:common]
    cache.use(OWNER, shared + b"-" * 6000, now=0)

    use = cache.use(OWNER, shared + b"+" * tail, now=0)

    steps = min(common // 512, (use.total - 1) // 128)
    assert use.read == (steps * 128 if steps >= 8 else 0)
    assert use.total == -(-(common + tail) // 4)


def test_a_prompt_expires_when_it_was_not_used_for_its_lifetime() -> None:
    cache = StepCache()
    text = b"y" * 8192

    reads = [cache.use(OWNER, text, now=at).read for at in (0, 1799, 3598, 5398)]

    assert reads == [0, 1920, 1920, 0]
