"""Is the product itself well? (04 §5.15)."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from controlplane.ui.deployment.system_rows import checks, database_rows, job_rows, node_counts
from controlplane.ui.frame.access import deployment_scope
from controlplane.ui.frame.page import PersonRequest, page

HERE = "ui:system"


@login_required
@require_safe
def system(request: PersonRequest) -> HttpResponse:
    deployment_scope(request, "system:read")
    found = checks(timezone.now())
    counts, counts_are = node_counts()
    context = {
        "checks": found,
        "wrong": [check for check in found if check.verdict.tone in {"alarm", "watch"}],
        "databases": database_rows(),
        "jobs": list(job_rows()),
        "counts": counts,
        "counts_are": counts_are,
    }
    return page(request, "system/system.html", context, here=HERE)
