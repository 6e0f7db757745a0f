from typing import Any

from django.db import migrations, models


def mark(apps: Any, _editor: Any) -> None:
    told = apps.get_model("annotate", "Annotation").objects.filter(exposure__has_key="revealed")
    apps.get_model("annotate", "User").objects.filter(pk__in=told.values("annotator")).update(has_looked=True)


class Migration(migrations.Migration):
    dependencies = [("annotate", "0008_disagreement")]

    operations = [
        migrations.AddField("user", "has_looked", models.BooleanField(default=False)),
        migrations.AddField("participation", "attempt_tasks", models.JSONField(blank=True, default=list)),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
