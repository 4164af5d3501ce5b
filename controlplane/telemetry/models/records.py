"""Rows about single things: a request, what each component did to it, a session, a marker."""

from __future__ import annotations

from django.db import models

from controlplane.telemetry.usd import UsdField


class RequestRecord(models.Model):
    """One finished client request. at: its instant; node_at: what the node's own clock said.

    origin: agent, or keepalive for a ping of ours, which is spend and no turn of the session.
    arm: base or candidate of a rollout. bypassed: why it was sent as it came, "" for shaped.
    accounting: complete, estimated (an answer that was cut: the output is what was delivered),
    partial (the price is unknown) or missing (the usage is unknown).
    captured: its changed texts were kept, and are until they are purged; texts_left_out: of those,
    how many found no room. runs: what each component did to it, as telemetry.runs packs it.
    """

    uid = models.CharField(max_length=32, unique=True)
    at = models.BigIntegerField()
    node_at = models.BigIntegerField()
    tenant_uid = models.CharField(max_length=32)
    session_uid = models.CharField(max_length=128, blank=True)
    thread = models.CharField(max_length=128, blank=True)
    turn = models.IntegerField(default=0)
    node_id = models.CharField(max_length=64)
    boot_id = models.CharField(max_length=64)
    route = models.CharField(max_length=64)
    provider = models.CharField(max_length=32)
    model = models.CharField(max_length=128, blank=True)
    effective_hash = models.CharField(max_length=80, blank=True)
    variant = models.CharField(max_length=64, blank=True)
    arm = models.CharField(max_length=16, default="base")
    origin = models.CharField(max_length=16, default="agent")

    status = models.IntegerField()
    outcome = models.CharField(max_length=32)
    error_code = models.CharField(max_length=64, blank=True)
    bypassed = models.CharField(max_length=64, blank=True)
    cache_phase = models.CharField(max_length=32, blank=True)
    pristine_resend = models.CharField(max_length=16, blank=True)
    streamed = models.BooleanField(default=False)
    sse_buffered = models.BooleanField(default=False)
    compacted = models.BooleanField(default=False)
    rewrite_failed = models.BooleanField(default=False)
    ending = models.CharField(max_length=32, blank=True, default="")
    rounds = models.IntegerField(default=0)
    reverts = models.IntegerField(default=0)

    shaped = models.BooleanField(default=False)
    tokens_before = models.BigIntegerField(default=0)
    tokens_after = models.BigIntegerField(default=0)
    attempted_tokens = models.BigIntegerField(default=0)
    saved_unique = models.BigIntegerField(default=0)
    cold_held = models.BigIntegerField(default=0)
    fresh_input = models.BigIntegerField(default=0)
    cache_read = models.BigIntegerField(default=0)
    cache_write = models.BigIntegerField(default=0)
    cache_write_1h = models.BigIntegerField(default=0)
    output = models.BigIntegerField(default=0)
    cost_usd = UsdField(null=True)
    saved_usd = UsdField(null=True)
    accounting = models.CharField(max_length=16)
    usage_miss = models.CharField(max_length=32, blank=True)
    priced_by = models.CharField(max_length=32, blank=True)

    added_ms = models.FloatField(null=True)
    upstream_ms = models.FloatField(null=True)
    first_byte_ms = models.FloatField(null=True)
    serve_ms = models.FloatField(default=0.0)

    expands = models.IntegerField(default=0)
    expand_tokens = models.BigIntegerField(default=0)
    expand_missing = models.IntegerField(default=0)
    expand_malformed = models.IntegerField(default=0)
    recoveries = models.JSONField(default=list)
    captured = models.BooleanField(default=False)
    texts_left_out = models.IntegerField(default=0)
    runs = models.JSONField(default=dict)

    class Meta:
        indexes = (
            models.Index(fields=("tenant_uid", "-id"), name="request_of_tenant"),
            models.Index(fields=("tenant_uid", "-at", "-id"), name="request_of_tenant_at"),
            models.Index(fields=("session_uid", "tenant_uid", "id"), name="request_in_session"),
            models.Index(fields=("outcome", "id"), name="request_outcome"),
            models.Index(fields=("at",), name="request_at"),
            models.Index(
                fields=("id",), condition=models.Q(expand_missing__gt=0), name="request_with_loss"
            ),
        )

    def __str__(self) -> str:
        return self.uid


class ContentBlob(models.Model):
    """A text that a request was sent without, kept under consent: scrubbed by the node, cut there.

    path: of its message in the body. before_z, after_z: UTF-8, zstd. components: in the order they
    changed it. redactions: values that the node took out. is_cut: only the beginning is here.
    """

    request = models.ForeignKey(RequestRecord, on_delete=models.CASCADE, related_name="texts")
    seq = models.SmallIntegerField()
    path = models.CharField(max_length=64)
    before_tokens = models.IntegerField()
    after_tokens = models.IntegerField()
    before_z = models.BinaryField()
    after_z = models.BinaryField()
    components = models.JSONField(default=list)
    redactions = models.IntegerField(default=0)
    is_cut = models.BooleanField(default=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("request", "seq"), name="text_of_request_once"),
        )

    def __str__(self) -> str:
        return f"{self.request_id} {self.path}"


class SessionRecord(models.Model):
    """A conversation. Its id is the client's, so it is one only within its tenant.

    cost_usd, saved_usd: of its priced requests; unpriced: how many had no price. model_names: in
    the order they were first seen, apart by a comma. attempted_tokens: None for a session that
    began before they were counted.
    """

    tenant_uid = models.CharField(max_length=32)
    session_uid = models.CharField(max_length=128)
    model_names = models.CharField(max_length=300, blank=True)
    arm = models.CharField(max_length=16, default="base")
    effective_hash_first = models.CharField(max_length=80, blank=True)
    effective_hash_last = models.CharField(max_length=80, blank=True)
    first_at = models.BigIntegerField()
    last_at = models.BigIntegerField()
    requests = models.IntegerField(default=0)
    tokens_before = models.BigIntegerField(default=0)
    tokens_after = models.BigIntegerField(default=0)
    attempted_tokens = models.BigIntegerField(null=True)
    saved_unique = models.BigIntegerField(default=0)
    fresh_input = models.BigIntegerField(default=0)
    cache_read = models.BigIntegerField(default=0)
    cache_write = models.BigIntegerField(default=0)
    cache_write_1h = models.BigIntegerField(default=0)
    output = models.BigIntegerField(default=0)
    cost_usd = UsdField(default=0)
    saved_usd = UsdField(default=0)
    priced = models.IntegerField(default=0)
    unpriced = models.IntegerField(default=0)
    errors = models.IntegerField(default=0)
    expands = models.IntegerField(default=0)
    expand_missing = models.IntegerField(default=0)
    expand_malformed = models.IntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant_uid", "session_uid"), name="session_once"),
        )
        indexes = (
            models.Index(fields=("tenant_uid", "-last_at", "-id"), name="session_of_tenant"),
            models.Index(fields=("-last_at", "-id"), name="session_newest"),
        )

    def __str__(self) -> str:
        return f"{self.tenant_uid} {self.session_uid}"


class MarkerRecord(models.Model):
    """The life of one marker: never its content.

    state: live, expanded, or missing. lost_cause: expired, lost, store_error or decrypt_error.
    saved_tokens: None where only a recovery call named it.
    """

    tenant_uid = models.CharField(max_length=32)
    marker_id = models.CharField(max_length=64)
    session_uid = models.CharField(max_length=128, blank=True)
    request_uid = models.CharField(max_length=32, blank=True)
    component = models.CharField(max_length=64, blank=True)
    saved_tokens = models.BigIntegerField(null=True)
    created_at = models.BigIntegerField(null=True)
    last_replayed_at = models.BigIntegerField(null=True)
    last_expanded_at = models.BigIntegerField(null=True)
    expands = models.IntegerField(default=0)
    state = models.CharField(max_length=16, default="live")
    lost_cause = models.CharField(max_length=32, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant_uid", "marker_id"), name="marker_once"),
        )
        indexes = (
            models.Index(fields=("tenant_uid", "session_uid"), name="marker_of_session"),
            models.Index(fields=("request_uid",), name="marker_of_request"),
        )

    def __str__(self) -> str:
        return f"{self.tenant_uid} {self.marker_id}"
