from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0004_round_kinds"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, max_length=10),
        ),
    ]
