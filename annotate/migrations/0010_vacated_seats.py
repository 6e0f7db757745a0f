from typing import Any

from django.db import migrations, models


def mark(apps: Any, _editor: Any) -> None:
    """Who skips a task leaves a draft; a submission that was withdrawn or deleted leaves none."""
    get = apps.get_model
    drafts = get("annotate", "Annotation").objects.filter(
        task=models.OuterRef("task"), annotator=models.OuterRef("annotator"), state="draft"
    )
    skipped = get("annotate", "Assignment").objects.filter(state="skipped")
    skipped.filter(~models.Exists(drafts)).update(vacated=True)


class Migration(migrations.Migration):
    dependencies = [("annotate", "0009_looks_and_attempts")]

    operations = [
        migrations.AddField("assignment", "vacated", models.BooleanField(default=False)),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
