"""What somebody proves besides the password (04 §8.1)."""

from __future__ import annotations

from django.db import models

from controlplane.accounts.models.people import User


class SecondFactor(models.Model):
    """A person's authenticator. ciphertext: its secret, sealed as those of the vault are.

    confirmed_at: when its first code was right; before that it demands nothing. last_step: of the
    last code that was taken, 0 for none.
    """

    user = models.OneToOneField(User, models.CASCADE, related_name="second_factor")
    key_id = models.CharField(max_length=32)
    ciphertext = models.BinaryField()
    last_step = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"second factor of {self.user}"

    @property
    def place(self) -> str:
        """Where its secret belongs; sealed for another person it does not open."""
        return f"{self.user.uid} totp"


class RecoveryCode(models.Model):
    """Stands for the authenticator once, when that is lost; only its digest is kept."""

    user = models.ForeignKey(User, models.CASCADE, related_name="recovery_codes")
    code_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"recovery code of {self.user}"
