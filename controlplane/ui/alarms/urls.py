"""Addresses of alarms and of the channels that carry them (04 §5.3, 5.16)."""

from __future__ import annotations

from django.urls import path

from controlplane.ui.alarms import channels, pages

ALARM = "alarms/<slug:alarm>"
CHANNEL = "settings/channels/<slug:place>/<slug:channel>"

urlpatterns = [
    path("alarms", pages.alarms, name="alarms"),
    path("bell", pages.ring, name="bell"),
    path(ALARM, pages.alarm, name="alarm"),
    path(f"{ALARM}/acknowledge", pages.acknowledge, name="acknowledge"),
    path(f"{ALARM}/resolve", pages.resolve, name="resolve"),
    path(f"{ALARM}/silence", pages.silence, name="silence"),
    path("settings/channels", channels.channels, name="channels"),
    path("settings/channels/<slug:place>", channels.channels_there, name="channels-there"),
    path(CHANNEL, channels.channel, name="channel"),
    path(f"{CHANNEL}/test", channels.send_test, name="test-channel"),
    path(f"{CHANNEL}/rotate", channels.rotate, name="rotate-channel"),
    path(f"{CHANNEL}/remove", channels.remove, name="remove-channel"),
]
