"""Documents, their immutable versions, drafts and presets (04 §1.2, 3.2)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane.accounts.models import ApiToken, Organisation, Tenant
from controlplane.accounts.models.ownership import SLUG
from controlplane.identifiers import uid_field


class ConfigDocument(models.Model):
    """A named text with a history. head: the version saved last; promoted: the one in force.

    They differ for presets alone: whatever else is saved is in force at once. organisation owns
    org_default and preset documents, tenant its own; both None is the server default.
    """

    class Kind(models.TextChoices):
        SERVER_DEFAULT = "server_default"
        ORG_DEFAULT = "org_default"
        PRESET = "preset"
        TENANT = "tenant"

    uid = uid_field("doc")
    kind = models.CharField(max_length=16, choices=Kind)
    organisation = models.ForeignKey(
        Organisation, models.PROTECT, null=True, blank=True, related_name="documents"
    )
    tenant = models.OneToOneField(
        Tenant, models.PROTECT, null=True, blank=True, related_name="document"
    )
    head = models.ForeignKey(
        "ConfigVersion", models.PROTECT, null=True, blank=True, related_name="+"
    )
    promoted = models.ForeignKey(
        "ConfigVersion", models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(kind="tenant", tenant__isnull=False, organisation=None)
                | Q(kind="server_default", tenant=None, organisation=None)
                | Q(kind__in=("org_default", "preset"), tenant=None, organisation__isnull=False),
                name="document_owner_matches_its_kind",
            ),
            models.UniqueConstraint(
                fields=("kind",),
                condition=Q(kind="server_default"),
                name="one_server_default_document",
            ),
            models.UniqueConstraint(
                fields=("organisation",),
                condition=Q(kind="org_default"),
                name="one_default_document_per_organisation",
            ),
        )

    def __str__(self) -> str:
        if self.kind == self.Kind.PRESET:
            return self.preset.name
        owner = self.tenant or self.organisation
        return owner.slug if owner else self.kind

    @property
    def organisation_uid(self) -> str:
        """The organisation that it belongs to; "" for the deployment."""
        owner = self.tenant.organisation if self.tenant else self.organisation
        return owner.uid if owner else ""


class ConfigVersion(models.Model):
    """One saved state of a document: the author's exact text and what it means.

    A tombstone has no text: from it on the document follows the layer below. parent: the version
    that the author started from. canonical: the document of 04 §2.3 as JSON text;
    content_hash: sha256 hex of its bytes.
    """

    class Kind(models.TextChoices):
        CONTENT = "content"
        TOMBSTONE = "tombstone"

    class Origin(models.TextChoices):
        UI = "ui"
        API = "api"
        CLI = "cli"
        CLONE = "clone"
        ROLLBACK = "rollback"
        IMPORT = "import"
        SYSTEM = "system"

    uid = uid_field("ver")
    document = models.ForeignKey(ConfigDocument, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=9, choices=Kind, default=Kind.CONTENT)
    parent = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="+")
    source = models.TextField(blank=True)
    source_sha256 = models.CharField(max_length=64)
    canonical = models.TextField(blank=True)
    content_hash = models.CharField(max_length=64, db_index=True)
    schema_version = models.PositiveIntegerField(default=1)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    author_token = models.ForeignKey(
        ApiToken, models.PROTECT, null=True, blank=True, related_name="+"
    )
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.SYSTEM)
    message = models.CharField(max_length=500)
    warnings = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(
                fields=("document", "number"), name="version_numbers_are_unique"
            ),
            models.CheckConstraint(
                condition=Q(kind="content") | Q(kind="tombstone", source=""),
                name="a_tombstone_has_no_text",
            ),
        )

    def __str__(self) -> str:
        return f"{self.document} v{self.number}"

    @property
    def is_tombstone(self) -> bool:
        return self.kind == self.Kind.TOMBSTONE

    @property
    def etag(self) -> str:
        """Names this state of the document for compare-and-set (04 §6.3)."""
        return f"d{self.number}-{self.source_sha256[:12]}"


class ConfigDraft(models.Model):
    """What one person has typed and not saved; it may be invalid. base: 0 for no version yet."""

    document = models.ForeignKey(ConfigDocument, models.CASCADE, related_name="drafts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    source = models.TextField(blank=True)
    base = models.PositiveIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("document", "user"), name="one_draft_per_document_and_person"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user}'s draft of {self.document}"


class Preset(models.Model):
    """A preset of an organisation. The packaged ones have no row: core.config.presets lists them.

    cloned_from: "name@version" that its first text was taken from, "" for none. Archived: not
    offered for new uses; whoever names it already keeps it.
    """

    uid = uid_field("pre")
    organisation = models.ForeignKey(Organisation, models.PROTECT, related_name="presets")
    name = models.CharField(max_length=40, validators=[SLUG])
    title = models.CharField(max_length=120, blank=True)
    description = models.CharField(max_length=500, blank=True)
    labels = models.JSONField(default=list, blank=True)
    document = models.OneToOneField(ConfigDocument, models.PROTECT, related_name="preset")
    cloned_from = models.CharField(max_length=60, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("organisation", "name"), name="preset_name_is_unique_in_organisation"
            ),
        )

    def __str__(self) -> str:
        return self.name
