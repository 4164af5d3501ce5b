"""Where each W, C, P and R case of 08-field-cases.md is tested, and why some are not yet."""

from __future__ import annotations

# Every case of 08 whose letter is W, C, P or R.
NUMBERS = {
    "W": (1, 3, 6, 8, 9, 12, 15, 20, 21, 22, 23, 24, 26, 30, 32, 35, 36, 37, 40, 41),
    "C": (1, 2, 5, 9, 10, 13, 14, 15, 20),
    "P": (1, 7, 10, 11, 12, 13, 17, 18, 20),
    "R": (1, 3, 6, 7, 9, 11, 13, 14, 15, 16, 18, 20, 22, 24),
}
ALL = {f"{letter}-{number:02}" for letter, each in NUMBERS.items() for number in each}

# Files whose request goes to the control plane; the tests by hand read them.
CONTROL_PLANE = {"R-09", "R-18", "R-20", "R-22"}

# Cases that cannot hold yet: what they ask for is not part of the product so far.
LATER = {
    "C-15": "Nothing asks a model on the side yet: the sweep's question comes with the sweep.",
}

# What is not tested of a case that is.
OPEN_PARTS = {
    "R-13": "The sweep's side calls come with the sweep.",
}

# Members of a file that say something else than 01 or 03, which count.
READ_OTHERWISE = {
    ("P-11", "gates_min"): (
        "01 §1.9 and case 43 of 03 let the texts beside an image be edited, each in its "
        "place; the image's own bytes stay, which a test by hand shows."
    ),
}
