from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person, or a simulated annotator of the sample project, who can never log in."""

    is_simulated = models.BooleanField(default=False)

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
        return f"{name} (simulated)" if self.is_simulated else name
