from django.db import migrations

from controlplane.immutability import write_once


class Migration(migrations.Migration):
    dependencies = [("prices", "0001_initial")]
    operations = [write_once("prices_pricecard"), write_once("prices_price")]
