from typing import Any

from django.db import migrations, models

WHYS = [
    ("corrected", "corrected"),
    ("key", "expected answers changed"),
    ("anew", "begun anew for another attempt"),
]
KEY = "key changed by "


def encode(apps: Any, _editor: Any) -> None:
    """A sentence in English becomes a code; what else it said is kept beside it."""
    revisions = apps.get_model("annotate", "Revision").objects
    revisions.filter(why="begun anew for another attempt").update(why="anew")
    other = revisions.exclude(why__in=[why for why, _label in WHYS])
    rest = models.functions.Substr("why", len(KEY) + 1)
    other.filter(why__startswith=KEY).update(detail=rest, why="key")
    revisions.exclude(why__in=[why for why, _label in WHYS]).update(detail=models.F("why"), why="corrected")


def decode(apps: Any, _editor: Any) -> None:
    revisions = apps.get_model("annotate", "Revision").objects
    revisions.filter(why="anew").update(why="begun anew for another attempt")
    revisions.filter(why="key").update(why=models.functions.Concat(models.Value(KEY), "detail"))


class Migration(migrations.Migration):
    dependencies = [("annotate", "0011_closings_on_record")]

    operations = [
        migrations.AddField("revision", "detail", models.CharField(blank=True, max_length=500)),
        migrations.RunPython(encode, decode),
        migrations.AlterField("revision", "why", models.CharField(choices=WHYS, max_length=10)),
    ]
