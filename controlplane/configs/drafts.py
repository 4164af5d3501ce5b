"""What people have typed and not saved yet (04 §1.2, 5.9).

A draft is its author's own and may be invalid, but a credential is refused as in a save. It is
no change of the configuration, so the trail does not tell of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from controlplane.accounts.models import User
from controlplane.configs.checking import checked_as
from controlplane.configs.models import ConfigDocument, ConfigDraft
from dataplane.core.config.problems import ConfigError


@transaction.atomic
def keep_draft(document: ConfigDocument, user: User, source: str, *, base: int) -> ConfigDraft:
    """Autosave; ConfigError when the text holds a credential: then nothing is stored."""
    problems = checked_as(document, source, user).problems
    if found := [one for one in problems if one.code == "config.inline_secret"]:
        raise ConfigError(found)
    return ConfigDraft.objects.update_or_create(
        document=document, user=user, defaults={"source": source, "base": base}
    )[0]


def drop_draft(document: ConfigDocument, user: User) -> None:
    ConfigDraft.objects.filter(document=document, user=user).delete()


def draft_of(document: ConfigDocument, user: User) -> ConfigDraft | None:
    return ConfigDraft.objects.filter(document=document, user=user).first()


def others_drafting(document: ConfigDocument, user: User) -> Sequence[User]:
    """Who else has unsaved text in the document, for a banner."""
    drafts = ConfigDraft.objects.filter(document=document).exclude(user=user)
    return [draft.user for draft in drafts.select_related("user").order_by("updated_at")]
