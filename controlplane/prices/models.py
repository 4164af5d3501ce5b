"""Price cards: what a provider charges, version by version (04 §1.7)."""

from __future__ import annotations

from functools import partial

from django.db import models

from controlplane.identifiers import uid_field

# USD per million tokens; the resolution of every amount of money (04 §0.3).
usd = partial(models.DecimalField, max_digits=18, decimal_places=9)


class PriceCard(models.Model):
    """One version of the deployment's card; never changed, the newest one is in force.

    content_hash: sha256 hex of the body that it publishes. The author's name is copied, so that
    the card outlives the account.
    """

    uid = uid_field("prc")
    version = models.PositiveIntegerField(unique=True)
    content_hash = models.CharField(max_length=64)
    author_label = models.CharField(max_length=254)
    message = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-version",)

    def __str__(self) -> str:
        return f"prices v{self.version}"


class Price(models.Model):
    """What one model costs. match: its name, or the start of it with "*" behind.

    A tier that is null follows from the input price: a tenth to read, a quarter more to write,
    twice as much to write for an hour. window and cache_minimum in tokens, window 0 unknown.
    """

    card = models.ForeignKey(PriceCard, models.PROTECT, related_name="prices")
    match = models.CharField(max_length=120)
    input = usd()
    output = usd()
    cache_read = usd(null=True, blank=True)
    cache_write = usd(null=True, blank=True)
    cache_write_1h = usd(null=True, blank=True)
    window = models.PositiveIntegerField(default=0)
    cache_minimum = models.PositiveIntegerField(default=1024)
    note = models.CharField(max_length=200, blank=True)
    estimate = models.BooleanField(default=False)

    class Meta:
        ordering = ("match",)
        constraints = (
            models.UniqueConstraint(fields=("card", "match"), name="one_price_per_model_and_card"),
        )

    def __str__(self) -> str:
        return self.match
