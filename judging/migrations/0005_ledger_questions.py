from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def count_questions(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    series = apps.get_model("judging", "Series").objects
    for ledger in apps.get_model("judging", "Ledger").objects.all():
        ledger.questions = series.filter(round_id=ledger.round_id, run=None, kind="question").count()
        ledger.save(update_fields=["questions"])


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0004_sendings"),
    ]

    operations = [
        migrations.AddField(
            model_name="ledger",
            name="questions",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.RunPython(count_questions, migrations.RunPython.noop),
    ]
