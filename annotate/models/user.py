from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext as _


class User(AbstractUser):
    """A person, or a simulated annotator of the sample project, who can never log in."""

    is_simulated = models.BooleanField(default=False)
    language = models.CharField(max_length=10, blank=True)  # of the pages; "" follows the browser
    has_looked = models.BooleanField(default=False)  # whether a round ever revealed anything to them
    keys = models.JSONField(default=dict, blank=True)  # their own keys on the annotation screen (see annotate.keys)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(is_simulated=False) | models.Q(is_active=False),
                name="user_simulated_cannot_log_in",
            ),
        ]

    def __str__(self) -> str:
        return self.display_name

    @property
    def display_name(self) -> str:
        """The full name where one is set, else the user name; simulated annotators say so."""
        name = self.get_full_name() or self.username
        return _("%(name)s (simulated)") % {"name": name} if self.is_simulated else name
