"""Data-plane keys of a tenant: issue one, shown once; revoke one, asked once (04 section 5.13)."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from controlplane.accounts.actions import issue_key, revoke_key
from controlplane.accounts.models import DataPlaneKey
from controlplane.ui.forms import KeyForm
from controlplane.ui.frame import PersonRequest, page
from controlplane.ui.snippets import snippets
from controlplane.ui.tenants import tenant_of, tenant_page


@login_required
@never_cache
@require_POST
def issue(request: PersonRequest, slug: str) -> HttpResponse:
    """Answers with the key itself instead of a redirect, because nothing may keep its text."""
    tenant = tenant_of(request, slug, "key:write")
    form = KeyForm(request.POST)
    if not form.is_valid():
        refused = {"key_form": form, "label": request.POST.get("label", "")}
        return tenant_page(request, tenant, slug, HTTPStatus.UNPROCESSABLE_ENTITY, **refused)
    key, plaintext = issue_key(tenant, form.cleaned_data["label"], request.user)
    base_url = request.build_absolute_uri("/").rstrip("/")
    context = {
        "tenant": tenant,
        "slug": slug,
        "key": key,
        "plaintext": plaintext,
        "snippets": snippets(base_url, plaintext),
    }
    return page(request, "tenants/issued.html", context, here="ui:tenants")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: PersonRequest, slug: str, uid: str) -> HttpResponse:
    """GET asks, POST does."""
    tenant = tenant_of(request, slug, "key:write")
    key = get_object_or_404(
        DataPlaneKey.objects.select_related("tenant__organisation"), tenant=tenant, uid=uid
    )
    if request.method == "POST":
        revoke_key(key, request.user)
        messages.success(request, f"The key {key.label} is revoked.", "ok")
        return redirect(f"{reverse('ui:tenant', args=[slug])}#keys")
    context = {"tenant": tenant, "slug": slug, "key": key}
    return page(request, "tenants/revoke.html", context, here="ui:tenants")
