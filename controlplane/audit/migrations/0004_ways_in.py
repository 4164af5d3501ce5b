from django.db import migrations, models

from controlplane.immutability import rewritable, write_once


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_hash_chain")]
    operations = [
        rewritable("audit_auditevent"),
        migrations.AlterField(
            "auditevent", "organisation_uid", models.CharField(blank=True, max_length=32)
        ),
        migrations.AddIndex(
            "auditevent",
            models.Index(fields=["organisation_uid", "seq"], name="trail_of_an_organisation"),
        ),
        migrations.AddIndex(
            "auditevent",
            models.Index(fields=["organisation_uid", "action"], name="trail_actions"),
        ),
        write_once("audit_auditevent"),
    ]
