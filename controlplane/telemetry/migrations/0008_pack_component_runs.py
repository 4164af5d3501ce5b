"""What each component did to a request: from a row of its own into one column of the request's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

REQUESTS = 1_000  # whose runs are in memory at a time
FLAGS = ("acted", "acted_replay", "mutated", "reverted", "skipped")
COLUMNS = (
    "request_id", "position", "component", "kind", *FLAGS, "discarded", "saved_gross",
    "saved_unique", "duration_ms", "error", "gates", "events",
)  # fmt: skip


def pack(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """In pieces by the number of the request, so that memory does not grow with the table."""
    runs = apps.get_model("telemetry", "ComponentRun")._default_manager.using(
        editor.connection.alias
    )
    ends = runs.aggregate(first=models.Min("request_id"), last=models.Max("request_id"))
    table = apps.get_model("telemetry", "RequestRecord")._meta.db_table
    for start in range(ends["first"] or 0, (ends["last"] or -1) + 1, REQUESTS):
        found = runs.filter(request_id__gte=start, request_id__lt=start + REQUESTS)
        rows = found.order_by("request_id", "position").values_list(*COLUMNS)
        with editor.connection.cursor() as cursor:
            cursor.executemany(
                f'UPDATE "{table}" SET "runs" = %s WHERE "id" = %s',  # noqa: S608  our own name
                list(_packed(dict(zip(COLUMNS, row, strict=True)) for row in rows)),
            )


def _packed(rows: Iterator[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    for request_id, runs in groupby(rows, itemgetter("request_id")):
        yield json.dumps({run.pop("component"): _run(run) for run in runs}), request_id


def _run(run: dict[str, Any]) -> dict[str, Any]:
    """Without what is as it is left out."""
    del run["request_id"]
    run["saved"] = run.pop("saved_gross")
    return {
        name: value for name, value in run.items() if value or name in ("position", "kind")
    }


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0007_refused_gaps")]

    operations = [
        migrations.AddField(
            model_name="requestrecord", name="runs", field=models.JSONField(default=dict)
        ),
        migrations.RunPython(pack),
        migrations.DeleteModel(name="ComponentRun"),
    ]
