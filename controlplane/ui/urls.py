"""The pages (04 §5): each room has addresses of its own."""

from __future__ import annotations

from controlplane.ui.accounts.urls import urlpatterns as accounts
from controlplane.ui.alarms.urls import urlpatterns as alarms
from controlplane.ui.configs.urls import urlpatterns as configs
from controlplane.ui.deployment.urls import urlpatterns as deployment
from controlplane.ui.presets.urls import urlpatterns as presets
from controlplane.ui.tenants.urls import urlpatterns as tenants
from controlplane.ui.watch.urls import urlpatterns as watch

app_name = "ui"

urlpatterns = [*accounts, *tenants, *deployment, *configs, *presets, *watch, *alarms]
