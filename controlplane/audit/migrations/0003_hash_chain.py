import django.utils.timezone
from django.db import migrations, models

from controlplane.audit.chain import actor_kind, hash_of
from controlplane.immutability import rewritable, write_once


def link(apps, _editor):
    """Chain the events that were recorded before there was a chain, in their order."""
    events, heads = (apps.get_model("audit", name).objects for name in ("AuditEvent", "TrailHead"))
    previous, seq = "", 0
    for seq, event in enumerate(events.order_by("id"), start=1):
        event.seq, event.prev_hash, event.actor_kind = seq, previous, actor_kind(event.actor_uid)
        event.hash = previous = hash_of(event, previous)
        event.save(update_fields=["seq", "prev_hash", "actor_kind", "hash"])
    if seq:
        heads.create(id=1, seq=seq, hash=previous)


def text(length):
    return models.CharField(max_length=length, blank=True, default="")


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_write_once")]
    operations = [
        rewritable("audit_auditevent"),
        migrations.CreateModel(
            name="TrailHead",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.BigIntegerField(default=0)),
                ("hash", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="trail_has_one_head")],
            },
        ),
        migrations.AddField("auditevent", "seq", models.BigIntegerField(null=True)),
        migrations.AddField("auditevent", "actor_kind", models.CharField(default="system", max_length=6)),
        migrations.AddField("auditevent", "via", models.CharField(default="system", max_length=6)),
        migrations.AddField("auditevent", "ip", text(45), preserve_default=False),
        migrations.AddField("auditevent", "request_id", text(64), preserve_default=False),
        migrations.AddField("auditevent", "reason", text(500), preserve_default=False),
        migrations.AddField("auditevent", "prev_hash", text(64), preserve_default=False),
        migrations.AddField("auditevent", "hash", models.CharField(default="", max_length=64), preserve_default=False),
        migrations.RunPython(link, migrations.RunPython.noop),
        migrations.AlterField("auditevent", "seq", models.BigIntegerField(unique=True)),
        migrations.AlterField("auditevent", "at", models.DateTimeField(default=django.utils.timezone.now)),
        migrations.AlterModelOptions("auditevent", {"ordering": ("-seq",)}),
        write_once("audit_auditevent"),
    ]
