"""The settings, with a sweeper that looks every two seconds: trials of what dies and comes back then take minutes."""

from config.settings import *  # noqa: F403
from config.settings import CELERY_BEAT_SCHEDULE

CELERY_BEAT_SCHEDULE["sweep"]["schedule"] = 2.0
