"""How passwords are kept: argon2id, 64 MiB, three passes, two lanes (04 §8.1)."""

from __future__ import annotations

from django.contrib.auth.hashers import Argon2PasswordHasher


class Argon2(Argon2PasswordHasher):
    time_cost = 3
    memory_cost = 64 * 1024  # KiB
    parallelism = 2
