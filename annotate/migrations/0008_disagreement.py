from django.db import migrations, models

KEEP = """
UPDATE annotate_task SET disagreement = CAST(COALESCE((
    WITH counted AS (
        SELECT id, score, preference FROM annotate_annotation
        WHERE task_id = annotate_task.id AND state = 'submitted' AND NOT surplus
    ), scale AS (
        SELECT scale_high - scale_low AS span FROM annotate_round WHERE id = annotate_task.round_id
    ), asked AS (
        SELECT CASE WHEN MIN(value) <> MAX(value) THEN 1.0 ELSE 0.0 END AS differs
        FROM annotate_answer JOIN counted ON counted.id = annotation_id
        WHERE value <> 'unsure' GROUP BY question_id, about_other
    )
    SELECT MAX(size) FROM (
        SELECT (MAX(score) - MIN(score)) * 1.0 / (SELECT span FROM scale) AS size FROM counted
        UNION ALL SELECT (MAX(preference) - MIN(preference)) / 4.0 FROM counted
        UNION ALL SELECT AVG(differs) FROM asked
    ) sizes
), 0) AS double precision)
WHERE round_id IN (SELECT id FROM annotate_round WHERE purpose = 'labels')"""
DECIDE = "UPDATE annotate_task SET decided = TRUE WHERE id IN (SELECT task_id FROM annotate_adjudication)"


class Migration(migrations.Migration):
    dependencies = [("annotate", "0007_training")]

    operations = [
        migrations.AddField("task", "disagreement", models.FloatField(default=0)),
        migrations.AddField("task", "decided", models.BooleanField(default=False)),
        migrations.AddIndex(
            "task",
            models.Index(
                models.F("round"),
                models.F("decided"),
                models.OrderBy(models.F("disagreement"), descending=True),
                models.F("position"),
                name="task_listed",
            ),
        ),
        migrations.RunSQL([KEEP, DECIDE], migrations.RunSQL.noop),
    ]
