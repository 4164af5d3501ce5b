"""Tiles of volume and savings, each with its small print (04 §5.1)."""

from __future__ import annotations

from controlplane.figures import tiles
from tests.fakes.node import busy


def shown(found: tuple[tiles.Tile, ...]) -> dict[str, str]:
    return {tile.label: str(tile.figure).replace("\u00a0", " ") for tile in found}


def test_volume_counts_every_request_and_says_how_many_were_shaped() -> None:
    counted = tiles.volume(busy())

    assert shown(counted)["Requests"] == "18,402"
    assert counted[0].sub == "16,204 through the pipeline"


def test_savings_keep_unique_net_and_gross_apart() -> None:
    assert shown(tiles.savings(busy())) == {
        "Unique": "17.4 M",
        "Net of restores": "227 M",
        "Gross": "227 M",
        "Gross ÷ unique": "13.0 \N{MULTIPLICATION SIGN}",
    }


def test_more_given_back_than_saved_is_said_and_never_looks_good() -> None:
    net = tiles.savings(busy(adjusted_saved=-4_310))[1]

    assert (str(net.figure), net.sub, net.tone) == (
        "\N{MINUS SIGN}4,310",
        "more given back than saved",
        "is-alarm",
    )
