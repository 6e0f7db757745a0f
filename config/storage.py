"""Static files under names that change with their content, also where one of our scripts imports another."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """A browser never runs an old module beside a new one. Django can do this for all files, and fails at those of
    others whose imports lead nowhere."""

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("js/*.js", ((r'(?P<matched>from "(?P<url>\./[^"]+)")', 'from "%(url)s"'),)),
    )
