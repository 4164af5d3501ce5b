"""Keeping a provider's prompt cache alive: what is pinged, when, with which bytes, at what price.

Pure; dataplane.adapters.beside.keepalive keeps what a ping needs and sends it.
Source: 03-proxy-and-recovery.md 7.3.
"""
