"""What the commands end with (04 section 4.9)."""

DONE = 0
UNEXPECTED = 1
PENDING = 2
INVALID = 3
CONFLICT = 4
TIMED_OUT = 7
NOT_PERMITTED = 9
