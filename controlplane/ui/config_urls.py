"""Addresses of documents, presets and explanations (04 §5.9, 5.10)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui import (
    config_effective,
    config_follow,
    config_form,
    config_history,
    config_list,
    config_merge,
    config_text,
    explained,
    preset_compare,
    preset_new,
    presets,
)

DOCUMENT = "config/<slug:handle>"
VERSION = f"{DOCUMENT}/versions/<int:number>"
PRESET = "presets/<slug:preset>"
PRESET_VERSION = f"{PRESET}/versions/<int:number>"

urlpatterns = [
    path("config", config_list.documents, name="config"),
    path(DOCUMENT, config_text.text, name="config-text"),
    path(f"{DOCUMENT}/check", config_text.check, name="config-check"),
    path(f"{DOCUMENT}/fix", config_text.mend, name="config-fix"),
    path(f"{DOCUMENT}/discard", config_text.discard, name="config-discard"),
    path(f"{DOCUMENT}/answer", config_text.node_answer, name="config-answer"),
    path(f"{DOCUMENT}/merge", config_merge.merge, name="config-merge"),
    path(f"{DOCUMENT}/customise", config_follow.customise, name="config-customise"),
    path(f"{DOCUMENT}/follow", config_follow.follow, name="config-follow"),
    path(f"{DOCUMENT}/form", config_form.form, name="config-form"),
    path(f"{DOCUMENT}/effective", config_effective.effective, name="config-effective"),
    path(
        f"{DOCUMENT}/effective.<slug:form>",
        config_effective.download,
        name="config-effective-file",
    ),
    path(f"{DOCUMENT}/versions", config_history.history, name="config-versions"),
    path(VERSION, config_history.version, name="config-version"),
    path(f"{VERSION}/restore", config_history.restore, name="config-restore"),
    path(f"{DOCUMENT}/diff", config_history.diff, name="config-diff"),
    path("presets", presets.presets, name="presets"),
    path("presets/new", preset_new.new, name="preset-new"),
    path("presets/compare", preset_compare.compared, name="preset-compare"),
    path(PRESET, presets.one, name="preset"),
    path(f"{PRESET}/clone", presets.clone, name="preset-clone"),
    path(f"{PRESET}/describe", preset_new.describe, name="preset-describe"),
    path(f"{PRESET}/offer", preset_new.offer, name="preset-offer"),
    path(f"{PRESET}/archive", presets.archive, name="preset-archive"),
    path(f"{PRESET_VERSION}/promotion", presets.ask_promotion, name="preset-promotion"),
    path(f"{PRESET_VERSION}/promote", presets.make_promotion, name="preset-promote"),
    path("docs/errors", explained.errors, name="errors"),
    path("docs/errors/<str:code>", explained.error, name="error"),
]
