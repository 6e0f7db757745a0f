"""Settings of Concord, all from the environment (see `.env.example` and docs/settings.md).

`NAME_FILE` may name a file that holds the value of `NAME`, for secrets. A bad value stops the start with a sentence.
"""

import secrets
import sys
from pathlib import Path
from urllib.parse import urlsplit

import django_stubs_ext
import environ
from django.core.exceptions import ImproperlyConfigured

# Lets classes such as ModelForm be written with their type, as in ModelForm[Round].
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = "0.1.0"

env = environ.FileAwareEnv()
env.read_env(BASE_DIR / ".env")


def flag(name: str, default: bool) -> bool:
    """A yes/no setting; anything but a known word is refused instead of read as "no"."""
    text = env.str(name, default="").strip().lower()
    if not text:
        return default
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} is {text!r}: write true or false.")


def whole(name: str, default: int, low: int, high: int) -> int:
    """A whole number within `low..high`."""
    text = env.str(name, default="").strip()
    if not text:
        return default
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ImproperlyConfigured(f"{name} is {text!r}: write a whole number from {low} to {high}.")
    return int(text)


# --- mode, secrets, hosts ---------------------------------------------------------------------------------------------

DEBUG = flag("DEBUG", False)
DEMO = flag("CONCORD_DEMO", False)
TESTING = "pytest" in sys.modules
# Commands that use neither sessions nor the database: they need no setting, and leave no file behind.
STANDALONE = Path(sys.argv[0]).name == "manage.py" and (
    sys.argv[1:2] == ["measure"] or sys.argv[1:] == ["help", "measure"]
)

DEVELOPMENT_KEY = "development-only-key-never-used-outside-debug-demo-and-tests"
SECRET_KEY = secrets.token_urlsafe(64) if STANDALONE else env.str("SECRET_KEY", default="")
if not SECRET_KEY:
    if not (DEBUG or DEMO or TESTING):
        raise ImproperlyConfigured("SECRET_KEY is not set: give it a long random value (see .env.example).")
    SECRET_KEY = DEVELOPMENT_KEY
if SECRET_KEY == DEVELOPMENT_KEY and not (DEBUG or DEMO or TESTING):
    raise ImproperlyConfigured("SECRET_KEY is the development key: give it a long random value of your own.")

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
HTTPS = flag("CONCORD_HTTPS", not (DEBUG or DEMO or TESTING))

# --- applications -----------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "annotate",
    "judging",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "django_htmx",
    "template_partials",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",  # the form renderer reads its templates
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "annotate.addresses.without_nul",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotate.context.site",
            ],
        },
    },
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# --- database ---------------------------------------------------------------------------------------------------------

VAR_DIR = Path(env.str("CONCORD_VAR_DIR", default=str(BASE_DIR / "var")))
if not STANDALONE:
    VAR_DIR.mkdir(parents=True, exist_ok=True)

DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'concord.sqlite3'}")}
_database = DATABASES["default"]
_database["ATOMIC_REQUESTS"] = False
_database["CONN_MAX_AGE"] = 0
if _database["ENGINE"] == "django.db.backends.sqlite3":
    # A write lock taken at BEGIN makes read-then-write transactions wait for one another instead of failing.
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    _database["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
elif _database["ENGINE"] == "django.db.backends.postgresql":
    _database.setdefault("OPTIONS", {})["pool"] = {
        "min_size": 1,
        "max_size": whole("DATABASE_POOL_SIZE", 10, 1, 200),
        "timeout": 10,  # seconds; a health check should not wait longer for a database that is down
    }
    # A statement of annotate.prepared that a connection runs this often is planned once.
    _database["OPTIONS"]["prepare_threshold"] = 3 if flag("DATABASE_PREPARED", True) else None
else:
    raise ImproperlyConfigured("DATABASE_URL must start with sqlite:// or postgres://.")

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- people -----------------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "annotate.User"
AUTHENTICATION_BACKENDS = ["annotate.logins.Backend"]
SESSION_ENGINE = "annotate.logins"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
SESSION_COOKIE_AGE = 14 * 24 * 3600
LOGIN_ATTEMPTS = whole("CONCORD_LOGIN_ATTEMPTS", 10, 1, 10_000)
LOGIN_WINDOW_SECONDS = 15 * 60
INVITATION_DAYS = 14
TRUSTED_PROXIES = whole("CONCORD_TRUSTED_PROXIES", 0, 0, 10)

# --- words, time, files -----------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ja", "日本語")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", default="UTC")

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
if not STANDALONE:
    STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG or DEMO or TESTING
        else "config.storage.StaticFiles"
    },
}
WHITENOISE_USE_FINDERS = DEBUG or DEMO or TESTING
WHITENOISE_AUTOREFRESH = DEBUG

IMPORT_MAX_BYTES = 20 * 1024 * 1024
IMPORT_MAX_ROWS = 20_000
IMPORT_MAX_TEXT = 200_000
DATA_UPLOAD_MAX_MEMORY_SIZE = IMPORT_MAX_BYTES + 1024 * 1024
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
FILE_UPLOAD_MAX_MEMORY_SIZE = IMPORT_MAX_BYTES + 1024 * 1024

# --- security ---------------------------------------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "manifest-src": ["'self'"],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- API --------------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "knox.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.CursorPagination",
    "PAGE_SIZE": 100,
    "STRICT_JSON": True,
}
REST_KNOX = {"TOKEN_TTL": None, "AUTH_HEADER_PREFIX": "Token"}
SPECTACULAR_SETTINGS = {
    "TITLE": "Concord API",
    "DESCRIPTION": "Items, responses, rounds, runs, labels and agreement of one project at a time.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    # Groups the API by what comes after the project: items, rounds, runs, ...
    "SCHEMA_PATH_PREFIX": r"/api(/projects/\{slug\}(?=/.))?",
}

# --- jobs -------------------------------------------------------------------------------------------------------------

# Tests that ring for nobody keep their messages out of the working folder.
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="memory://" if TESTING else "filesystem://")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
if CELERY_BROKER_URL.startswith("filesystem") and not STANDALONE:
    _broker = VAR_DIR / "broker"
    for _folder in ("messages", "control", "done"):
        (_broker / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_broker / "messages"),
        "data_folder_out": str(_broker / "messages"),
        "processed_folder": str(_broker / "done"),
        "control_folder": str(_broker / "control"),
        "store_processed": False,
    }
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "concord"
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")
CELERY_BEAT_SCHEDULE = {
    "heartbeat": {"task": "judging.tasks.heartbeat", "schedule": 15.0, "options": {"expires": 30}},
    "sweep": {"task": "judging.tasks.sweep", "schedule": 20.0, "options": {"expires": 40}},
    "snapshot": {"task": "judging.tasks.snapshot", "schedule": 60.0, "options": {"expires": 60}},
}
HEARTBEAT_MAX_AGE_SECONDS = 90

# --- judges -----------------------------------------------------------------------------------------------------------

OPENAI_API_KEY = env.str("OPENAI_API_KEY", default="")
OPENAI_BASE_URL = env.str("OPENAI_BASE_URL", default="https://api.openai.com/v1")
OPENAI_MODEL = env.str("OPENAI_MODEL", default="gpt-4o-mini")
JUDGES_ON_PRIVATE_NETWORKS = flag("CONCORD_JUDGES_ON_PRIVATE_NETWORKS", True)
if urlsplit(OPENAI_BASE_URL).scheme not in {"http", "https"}:
    raise ImproperlyConfigured("OPENAI_BASE_URL must start with http:// or https://.")
CALL_LEASE_SECONDS = whole("CONCORD_CALL_LEASE_SECONDS", 60, 5, 3600)
CALL_MAX_ATTEMPTS = whole("CONCORD_CALL_MAX_ATTEMPTS", 4, 1, 20)

# --- the demo ---------------------------------------------------------------------------------------------------------

PORT = whole("CONCORD_PORT", 8000, 1, 65_535)
MODEL_PORT = whole("CONCORD_MODEL_PORT", 8099, 1, 65_535)

# --- logs -------------------------------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s", "datefmt": "%H:%M:%S"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "annotate": {"level": "INFO"},
        "judging": {"level": "INFO"},
        "django.request": {"level": "ERROR"},
        "celery": {"level": "WARNING"},
        # Warns at every message that a filesystem has no host name.
        "kombu.connection": {"level": "ERROR"},
        # Request lines of the HTTP library would repeat every judge call at INFO.
        "httpx2": {"level": "WARNING"},
        "openai": {"level": "WARNING"},
    },
}

if TESTING:
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    SECURE_SSL_REDIRECT = False
