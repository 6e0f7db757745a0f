from django.urls import URLPattern, path

from annotate.views import accounts, checklists, exports, items, labels, members, projects, rounds

urlpatterns: list[URLPattern] = [
    path("", projects.home, name="home"),
    path("accounts/login/", accounts.login, name="login"),
    path("accounts/logout/", accounts.logout, name="logout"),
    path("accounts/password/", accounts.password_change, name="password_change"),
    path("accounts/password/done/", accounts.password_change_done, name="password_change_done"),
    path("accounts/tokens/", accounts.tokens, name="tokens"),
    path("accounts/tokens/<slug:key>/delete/", accounts.token_delete, name="token_delete"),
    path("theme/", accounts.theme, name="theme"),
    path("invitations/<str:token>/", members.invitation, name="invitation"),
    path("projects/new/", projects.project_create, name="project_create"),
    path("projects/<slug:slug>/", projects.project, name="project"),
    path("projects/<slug:slug>/settings/", projects.project_settings, name="project_settings"),
    path("projects/<slug:slug>/members/", members.members, name="members"),
    path("projects/<slug:slug>/invitations/<int:pk>/revoke/", members.invitation_revoke, name="invitation_revoke"),
    path("projects/<slug:slug>/items/", items.items, name="items"),
    path("projects/<slug:slug>/items/<int:pk>/", items.item, name="item"),
    path("projects/<slug:slug>/items/import/", items.import_items, name="import_items"),
    path("projects/<slug:slug>/items/import/<int:pk>/", items.import_preview, name="import_preview"),
    path("projects/<slug:slug>/checklists/", checklists.checklists, name="checklists"),
    path("projects/<slug:slug>/checklists/<int:pk>/", checklists.checklist, name="checklist"),
    path("projects/<slug:slug>/items/<int:pk>/checklists/new/", checklists.checklist_create, name="checklist_create"),
    path("projects/<slug:slug>/rounds/", rounds.rounds, name="rounds"),
    path("projects/<slug:slug>/rounds/new/", rounds.round_create, name="round_create"),
    path("projects/<slug:slug>/rounds/<int:pk>/", rounds.round, name="round"),
    path("projects/<slug:slug>/rounds/<int:pk>/annotate/", labels.annotate, name="annotate"),
    path("projects/<slug:slug>/tasks/<int:pk>/", labels.task, name="task"),
    path("projects/<slug:slug>/tasks/<int:pk>/save/", labels.task_save, name="task_save"),
    path("projects/<slug:slug>/rounds/<int:pk>/labels.<str:format>", exports.export_labels, name="export_labels"),
]
