from django.urls import URLPattern, path

from annotate.views import accounts, members, projects

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
    path(
        "projects/<slug:slug>/invitations/<int:pk>/revoke/", members.invitation_revoke, name="invitation_revoke"
    ),
]
