"""Django's settings, derived from controlplane.settings.environment (04 §0.5, 1.8, 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controlplane.settings import databases
from controlplane.settings.environment import from_process

ENVIRONMENT = from_process()
BASE_DIR = Path(__file__).resolve().parent.parent.parent

SECRET_KEY = ENVIRONMENT.secret_key
DEBUG = ENVIRONMENT.debug
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
SECRET_SEALING_KEYS = ENVIRONMENT.secret_keys
NODE_TOKEN = ENVIRONMENT.node_token
OUTBOUND_PORTS = ENVIRONMENT.outbound_ports
SECOND_FACTOR_DEMANDED = ENVIRONMENT.demands_second_factor
TRUSTED_PROXIES = ENVIRONMENT.trusted_proxies
CAPTURE_CONTENT = ENVIRONMENT.capture_content
CSRF_TRUSTED_ORIGINS = [ENVIRONMENT.base_url]

INSTALLED_APPS = [
    "controlplane.cli",  # first: it replaces runserver by one that speaks ASGI
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",  # where the renderer below finds the widgets
    "django_htmx",
    "template_partials",
    "csp",
    "controlplane.audit",
    "controlplane.fleet",
    "controlplane.accounts",
    "controlplane.configs",
    "controlplane.prices",
    "controlplane.alarms",
    "controlplane.telemetry",
    "controlplane.jobs",
    "controlplane.ui",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "controlplane.headers.PermissionsPolicy",
    "csp.middleware.CSPMiddleware",
    "controlplane.static_files.StaticFiles",
    "controlplane.metrics.requests.CountRequests",
    "controlplane.arrivals.RequestOrigin",
    "controlplane.crossing.Crossing",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "controlplane.arrivals.SignedInMachines",
    "controlplane.ui.accounts.second_factor.FirstEnrol",
    "controlplane.ui.tenants.which_tenant.WhichTenant",
    "django.contrib.messages.middleware.MessageMiddleware",
    "controlplane.spreading.ChangesReachNodes",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

FORM_RENDERER = "controlplane.ui.frame.forms.FieldsAsDesigned"

DATABASES: dict[str, dict[str, Any]] = databases.both(ENVIRONMENT)
DATABASE_ROUTERS = ["controlplane.databases.ByAppLabel"]

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
PASSWORD_HASHERS = ["controlplane.accounts.hashers.Argon2"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

SESSION_COOKIE_NAME = "cg_session"
SESSION_COOKIE_AGE = 30 * 24 * 3600
SESSION_COOKIE_SECURE = ENVIRONMENT.is_https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = ENVIRONMENT.is_https
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if ENVIRONMENT.is_https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if ENVIRONMENT.is_https:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "controlplane.static_files.HashedAddresses"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# Between processes only wake-ups travel; what happened is in the telemetry database.
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}
if ENVIRONMENT.channel_redis:
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [ENVIRONMENT.channel_redis]},
    }

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "controlplane.log_lines.ScrubbedLines",
            "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": ENVIRONMENT.log_level},
    "loggers": {
        "django.server": {"level": "WARNING"},
        # It warns of every 403, 404 and 422, which are answers to a visitor and not our errors.
        "django.request": {"level": "ERROR"},
    },
}
