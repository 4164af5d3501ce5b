from django.db import migrations

from controlplane.immutability import write_once


class Migration(migrations.Migration):
    dependencies = [("configs", "0001_initial")]
    operations = [write_once("configs_configversion"), write_once("configs_effectiverevision")]
