from django.db import migrations

from controlplane.immutability import write_once


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [write_once("audit_auditevent")]
