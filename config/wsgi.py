"""The web server's way in.

What is loaded here stays as long as the process: it is loaded before the first request, and the collector of garbage
is told not to look through it again and again.
"""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
_ = get_resolver().url_patterns  # imports every view
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 20)
