from django.db import models

from annotate.models.project import Project
from annotate.models.user import User


class Upload(models.Model):
    """A file that was read and previewed, and waits for its import to be confirmed."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="uploads")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    filename = models.CharField(max_length=200)
    content = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.filename
