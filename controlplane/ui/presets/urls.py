"""Addresses of presets (04 §3, 5.10)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui.presets import compare, new, pages

PRESET = "presets/<slug:preset>"
VERSION = f"{PRESET}/versions/<int:number>"

urlpatterns = [
    path("presets", pages.presets, name="presets"),
    path("presets/new", new.new, name="preset-new"),
    path("presets/compare", compare.compared, name="preset-compare"),
    path(PRESET, pages.one, name="preset"),
    path(f"{PRESET}/clone", pages.clone, name="preset-clone"),
    path(f"{PRESET}/describe", new.describe, name="preset-describe"),
    path(f"{PRESET}/offer", new.offer, name="preset-offer"),
    path(f"{PRESET}/archive", pages.archive, name="preset-archive"),
    path(f"{VERSION}/promotion", pages.ask_promotion, name="preset-promotion"),
    path(f"{VERSION}/promote", pages.make_promotion, name="preset-promote"),
]
