"""The pages that watch: alarms, sessions, requests, nodes, the product itself, channels."""

from __future__ import annotations

from django.urls import path

from controlplane.ui import alarms, channels, nodes, requests, sessions, system

ALARM = "alarms/<slug:alarm>"
SESSION = "sessions/<slug:tenant>/<str:session>"
CHANNEL = "settings/channels/<slug:place>/<slug:channel>"

urlpatterns = [
    path("alarms", alarms.alarms, name="alarms"),
    path("bell", alarms.ring, name="bell"),
    path(ALARM, alarms.alarm, name="alarm"),
    path(f"{ALARM}/acknowledge", alarms.acknowledge, name="acknowledge"),
    path(f"{ALARM}/resolve", alarms.resolve, name="resolve"),
    path(f"{ALARM}/silence", alarms.silence, name="silence"),
    path("sessions", sessions.sessions, name="sessions"),
    path(SESSION, sessions.session, name="session"),
    path(f"{SESSION}/markers/<slug:marker>", sessions.original, name="original"),
    path(f"{SESSION}/texts/<slug:record>", sessions.texts, name="texts"),
    path("requests", requests.requests, name="requests"),
    path("requests/<slug:record>", requests.request_page, name="request"),
    path("nodes", nodes.nodes, name="nodes"),
    path("nodes/<str:node>", nodes.node, name="node"),
    path("nodes/<str:node>/remove", nodes.remove, name="remove-node"),
    path("system", system.system, name="system"),
    path("settings/channels", channels.channels, name="channels"),
    path("settings/channels/<slug:place>", channels.channels_there, name="channels-there"),
    path(CHANNEL, channels.channel, name="channel"),
    path(f"{CHANNEL}/test", channels.send_test, name="test-channel"),
    path(f"{CHANNEL}/rotate", channels.rotate, name="rotate-channel"),
    path(f"{CHANNEL}/remove", channels.remove, name="remove-channel"),
]
