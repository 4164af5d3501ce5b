"""Upstreams that were accepted on this machine before the rule on private networks stay usable."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from django.db import migrations


def is_named_by_number(base_url):
    host = urlsplit(base_url).hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def allow(apps, _editor):
    upstreams = apps.get_model("accounts", "Upstream").objects
    for upstream in upstreams.all():
        if is_named_by_number(upstream.base_url) or upstream.allow_insecure:
            upstream.allow_private = True
            upstream.save(update_fields=["allow_private"])


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_members_secrets_sessions")]
    operations = [migrations.RunPython(allow, migrations.RunPython.noop)]
