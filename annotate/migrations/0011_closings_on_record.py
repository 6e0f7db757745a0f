from django.db import migrations, models

ACTIONS = [
    ("released", "released seats"),
    ("reassigned", "gave a seat to somebody else"),
    ("paused", "paused an annotator"),
    ("resumed", "let an annotator in again"),
    ("placed", "placed an annotator in this arm"),
    ("withdrawn", "withdrew a label"),
    ("closed", "closed the round"),
    ("reopened", "opened the round again"),
]


class Migration(migrations.Migration):
    dependencies = [("annotate", "0010_vacated_seats")]

    operations = [
        migrations.AlterField("intervention", "action", models.CharField(choices=ACTIONS, max_length=10)),
        migrations.AddField("removal", "drafts", models.PositiveIntegerField(default=0)),
    ]
