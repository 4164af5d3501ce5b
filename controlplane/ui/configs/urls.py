"""Addresses of documents and of explained problems (04 §2.9, 5.9)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui.configs import (
    documents,
    effective,
    explained,
    follow,
    form,
    history,
    merge,
    text,
)

DOCUMENT = "config/<slug:handle>"
VERSION = f"{DOCUMENT}/versions/<int:number>"

urlpatterns = [
    path("config", documents.documents, name="config"),
    path(DOCUMENT, text.text, name="config-text"),
    path(f"{DOCUMENT}/check", text.check, name="config-check"),
    path(f"{DOCUMENT}/fix", text.mend, name="config-fix"),
    path(f"{DOCUMENT}/discard", text.discard, name="config-discard"),
    path(f"{DOCUMENT}/answer", text.node_answer, name="config-answer"),
    path(f"{DOCUMENT}/merge", merge.merge, name="config-merge"),
    path(f"{DOCUMENT}/customise", follow.customise, name="config-customise"),
    path(f"{DOCUMENT}/follow", follow.follow, name="config-follow"),
    path(f"{DOCUMENT}/form", form.form, name="config-form"),
    path(f"{DOCUMENT}/effective", effective.effective, name="config-effective"),
    path(
        f"{DOCUMENT}/effective.<slug:form>",
        effective.download,
        name="config-effective-file",
    ),
    path(f"{DOCUMENT}/versions", history.history, name="config-versions"),
    path(VERSION, history.version, name="config-version"),
    path(f"{VERSION}/restore", history.restore, name="config-restore"),
    path(f"{DOCUMENT}/diff", history.diff, name="config-diff"),
    path("docs/errors", explained.errors, name="errors"),
    path("docs/errors/<str:code>", explained.error, name="error"),
]
