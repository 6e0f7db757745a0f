from __future__ import annotations

from django.db import models, transaction
from django.db.models import Q

from annotate.models import Project, User
from judging.prompts import Template, parse, template


class PromptManager(models.Manager["Prompt"]):
    def of(self, project: Project, name: str) -> Template:
        """The template in use: the project's own where it has one, else the one that Concord brings."""
        own = self.filter(project=project, name=name, in_use=True).first()
        return own.template if own else template(name)

    def pinned(self, project: Project, name: str, version: str) -> Template | None:
        """The template of just this version, also when it is no longer in use; None where nobody has it any more."""
        brought = template(name)
        if brought.version == version:
            return brought
        if "\0" in version:  # no text of PostgreSQL has one
            return None
        own = self.filter(project=project, name=name, version=version).first()
        return own.template if own else None


class Prompt(models.Model):
    """A project's own text of a prompt template. Texts are never changed: another text is another version."""

    LONGEST = 50_000

    project = models.ForeignKey(Project, models.CASCADE, related_name="prompts")
    name = models.CharField(max_length=60)
    source = models.TextField(max_length=LONGEST)
    version = models.CharField(max_length=64)  # content hash
    in_use = models.BooleanField(default=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = PromptManager()

    class Meta:
        ordering = ["name", "-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name", "version"], name="prompt_version_once"),
            models.UniqueConstraint(fields=["project", "name"], condition=Q(in_use=True), name="prompt_one_in_use"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def template(self) -> Template:
        return parse(self.name, self.source)

    @classmethod
    def replace(cls, project: Project, name: str, source: str, user: User | None = None) -> Template:
        """Use this text from now on, for runs that are planned from now on. The text must be a sound template
        (`prompts.problem_with`); the one that Concord brings puts the project's own out of use."""
        new = parse(name, source)
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            cls.objects.filter(project=project, name=name, in_use=True).update(in_use=False)
            if new.version != template(name).version:
                cls.objects.update_or_create(
                    project=project,
                    name=name,
                    version=new.version,
                    defaults={"source": new.source, "in_use": True},
                    create_defaults={"source": new.source, "in_use": True, "created_by": user},
                )
        return new
