"""A new preset, described; and what is said about one (04 §3.2)."""

from __future__ import annotations

from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.accounts.models import Organisation
from controlplane.accounts.scopes import Scope, scope_of_user
from controlplane.configs import visible
from controlplane.configs.effective_text import as_yaml
from controlplane.configs.preset_offers import offer_update
from controlplane.configs.presets import Beginning, Labels, create_preset, describe_preset
from controlplane.configs.queries import current_revision
from controlplane.configs.usage import usage_of
from controlplane.ui.configs import problem_rows
from controlplane.ui.configs.forms import MAX_SOURCE
from controlplane.ui.frame.page import PersonRequest, page
from controlplane.ui.presets.pages import HERE, WRITE, own_preset
from dataplane.core.config.parse import parse
from dataplane.core.config.problems import ConfigError

EMPTY, TEXT = "", "text"
NOTHING = "pipeline: []\n"


class NewPresetForm(forms.Form):
    """start: an empty pipeline, the text below, or the uid of a tenant for what it runs now."""

    organisation = forms.ChoiceField()
    name = forms.SlugField(
        max_length=40, help_text="Lower-case letters, digits and hyphens, a letter first."
    )
    title = forms.CharField(max_length=120, required=False)
    start = forms.ChoiceField(label="Begin with", required=False)
    file = forms.FileField(required=False, help_text="A document that was kept elsewhere.")
    source = forms.CharField(
        label="Text, YAML", max_length=MAX_SOURCE, required=False, strip=False,
        widget=forms.Textarea(attrs={"class": "input code", "spellcheck": "false", "wrap": "off"}),
    )  # fmt: skip

    def __init__(self, scope: Scope, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._scope = scope
        places = scope.organisations(WRITE)
        organisation, start = self.fields["organisation"], self.fields["start"]
        assert isinstance(organisation, forms.ChoiceField)  # noqa: S101  as declared above
        assert isinstance(start, forms.ChoiceField)  # noqa: S101
        for field in (organisation, self.fields["name"], self.fields["title"], start):
            field.widget.attrs["class"] = "input"
        organisation.choices = [(one.uid, one.name) for one in places]
        tenants = scope.tenants("config:read").select_related("organisation")
        runs = [(one.uid, f"what {one.organisation.slug}/{one.slug} runs now") for one in tenants]
        start.choices = [(EMPTY, "an empty pipeline"), (TEXT, "the file or text below"), *runs]

    @property
    def place(self) -> Organisation:
        uid = self.cleaned_data["organisation"]
        return self._scope.organisations(WRITE).get(uid=uid)

    def text(self) -> str:
        """ConfigError for a file whose bytes are no text."""
        start, file = self.cleaned_data["start"], self.cleaned_data["file"]
        if start == EMPTY and file is None and not self.cleaned_data["source"].strip():
            return NOTHING
        if start in (EMPTY, TEXT):
            raw = _decoded(file.read(MAX_SOURCE + 1)) if file else ""
            return (raw or str(self.cleaned_data["source"])).replace("\r\n", "\n")
        tenant = self._scope.tenant(start)
        revision = current_revision(tenant) if tenant else None
        return as_yaml(revision.effective, {}) if revision else NOTHING


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ConfigError(parse(raw).problems) from None


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: PersonRequest) -> HttpResponse:
    scope = scope_of_user(request.user)
    if not scope.organisations(WRITE).exists():
        raise PermissionDenied
    if request.method != "POST":
        return _asked(request, NewPresetForm(scope))
    form = NewPresetForm(scope, request.POST, request.FILES)
    if not form.is_valid():
        return _asked(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    name, about = form.cleaned_data["name"], Labels(title=form.cleaned_data["title"])
    source = ""
    try:
        source = form.text()
        first = Beginning(source=source, message="First version")
        made = create_preset(form.place, name, first, request.user, about)
    except ValidationError as refused:
        form.add_error("name", refused.messages)
        return _asked(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    except ConfigError as refused:
        problems = problem_rows.rows(refused.problems, source)
        return _asked(request, form, HTTPStatus.UNPROCESSABLE_ENTITY, problems=problems)
    messages.success(request, f"{made.name} is created. Documents can name it now.", "ok")
    return redirect("ui:config-text", made.document.uid)


def _asked(
    request: PersonRequest, form: NewPresetForm, status: int = HTTPStatus.OK, **more: object
) -> HttpResponse:
    return page(request, "configs/preset_new.html", {"form": form, **more}, here=HERE,
                status=status)  # fmt: skip


@login_required
@require_POST
def describe(request: PersonRequest, preset: str) -> HttpResponse:
    """Title, description and labels, which decide nothing."""
    own = own_preset(request, preset)
    sent = request.POST
    labels = sent.get("labels", "").split(",")
    about = Labels(
        title=sent.get("title", ""), description=sent.get("description", ""), labels=labels
    )
    try:
        describe_preset(own, about, request.user)
    except ValidationError as refused:
        messages.error(request, f"Not kept: {' '.join(refused.messages)}", "alarm")
    else:
        messages.success(request, f"{own.name} is described anew.", "ok")
    return redirect("ui:preset", preset)


@login_required
@require_POST
def offer(request: PersonRequest, preset: str) -> HttpResponse:
    """Drafts with the version in force for those that pinned another one."""
    own = own_preset(request, preset)
    scope = scope_of_user(request.user)
    usage = usage_of(own.name, own.organisation, list(visible.organisations(scope)))
    made = offer_update(own, usage.users, scope, request.user)
    if made.offered:
        said = f"A draft waits in {', '.join(made.offered)}. Nothing live has changed."
        messages.success(request, said, "ok")
    for name, why in made.left.items():
        messages.warning(request, f"No draft in {name}: {why}.", "watch")
    return redirect("ui:preset", preset)
