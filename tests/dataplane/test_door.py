"""How many connections there are, and who makes way for whom."""

from __future__ import annotations

from dataplane.door import FEWEST, Door, descriptors_left


class Waiting:
    """A connection that notes that it was hung up."""

    def __init__(self) -> None:
        self.is_gone = False

    def make_way(self) -> None:
        self.is_gone = True


def full(door: Door) -> list[Waiting]:
    inside = [Waiting() for _ in range(door.most)]
    assert all(door.enter(each) for each in inside)
    return inside


def test_half_of_the_descriptors_that_are_left_are_clients() -> None:
    assert Door(lambda: 40).most == 20
    assert Door(lambda: 2).most == FEWEST
    assert descriptors_left() > 0


def test_who_waits_longest_for_its_client_makes_way() -> None:
    door = Door(lambda: 40)
    inside = full(door)
    door.ask(inside[0], is_page=False)
    door.wait(inside[1])

    assert door.enter(Waiting())

    assert [each.is_gone for each in inside[:4]] == [False, False, True, False]


def test_one_that_is_being_answered_never_makes_way() -> None:
    door = Door(lambda: 40)
    inside = full(door)
    for each in inside:
        door.ask(each, is_page=False)

    assert not door.enter(Waiting())

    door.leave(inside[0])
    assert door.enter(Waiting())
    assert not any(each.is_gone for each in inside)


def test_pages_leave_traffic_its_share() -> None:
    door = Door(lambda: 40)
    inside = full(door)

    taken = [door.ask(each, is_page=True) for each in inside]

    assert (taken.count(True), door.most_pages) == (15, 15)
    door.leave(inside[0])
    assert door.ask(inside[16], is_page=False)
    assert door.ask(inside[17], is_page=True)
    door.wait(inside[1])
    assert door.ask(inside[18], is_page=True)


def test_one_that_left_is_not_counted_again() -> None:
    door = Door(lambda: 40)
    inside = full(door)
    door.leave(inside[0])
    door.wait(inside[0])

    assert door.enter(Waiting())
    assert not any(each.is_gone for each in inside)
