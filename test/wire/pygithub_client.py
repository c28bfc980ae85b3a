"""PyGithub, driven by a test: a JSON request a line on stdin, what came of it a line on stdout."""

import json
import sys
import urllib.request
from itertools import islice

from github import Consts, Github, GithubException
from github.PaginatedList import PaginatedList
from github.Repository import Repository

MAX_LISTED = 100
# Whom the line at hand asks, and as whom; migrations that were started, by where and which.
base_url = token = organization = None
all_started = {}


def github(per_page=30):
    return Github(token, base_url=base_url, per_page=per_page)


def owner(per_page=30):
    if organization:
        return github(per_page).get_organization(organization)
    return github(per_page).get_user()


def started(id):
    return all_started[base_url, id]


def record(migration):
    return {
        "id": migration.id,
        "state": migration.state,
        "created_at": migration.created_at.isoformat(),
    }


def login():
    return github().get_user().login


def user_repositories(asked):
    return [repository.full_name for repository in owner(1).get_repos(**asked)]


def start(repositories, lock):
    migration = owner().create_migration(repositories, lock_repositories=lock)
    all_started[base_url, migration.id] = migration
    return record(migration)


def list_migrations(per_page):
    migrations = owner(per_page).get_migrations()
    return [migration.id for migration in islice(migrations, MAX_LISTED)]


def status(id):
    started(id).get_status()
    return record(started(id))


def repositories(id, per_page):
    # PyGithub has no method for this list, but its pager can be pointed at it.
    requester = started(id)._requester
    requester.per_page = per_page
    headers = {"Accept": Consts.mediaTypeMigrationPreview}
    listed = PaginatedList(Repository, requester, f"{started(id).url}/repositories", None, headers)
    return [repository.full_name for repository in listed]


def download(id, file):
    urllib.request.urlretrieve(started(id).get_archive_url(), file)


def unlock(id, name):
    started(id).unlock_repo(name)


def delete_archive(id):
    started(id).delete()


def walk(id):
    return [walked(repository) for repository in started(id).repositories]


def walked(repository):
    # Neither is in the record of a migration: PyGithub asks the repository's and its owner's own addresses for them.
    parent, since = repository.parent, repository.owner.created_at
    license = repository.raw_data["license"]
    return {
        "full_name": repository.full_name,
        "has_parent": parent is not None,
        "owner": {"login": repository.owner.login, "has_age": since is not None},
        "license": license and github().get_license(license["key"]).body,
        "license_file": license and repository.get_license().decoded_content.decode(),
        "branches": [[branch.name, branch.commit.sha] for branch in repository.get_branches()],
        "tags": [[tag.name, tag.commit.sha] for tag in repository.get_tags()],
        "topics": repository.get_topics(),
        "languages": repository.get_languages(),
        "collaborators": [
            [person.login, person.permissions.admin] for person in repository.get_collaborators()
        ],
    }


def licenses():
    return [license.key for license in github().get_licenses()]


def rate_limit():
    core = github().get_rate_limit().core
    return {"limit": core.limit, "remaining": core.remaining}


OPERATIONS = [
    login,
    user_repositories,
    start,
    list_migrations,
    status,
    repositories,
    download,
    unlock,
    delete_archive,
    walk,
    licenses,
    rate_limit,
]
by_name = {operation.__name__: operation for operation in OPERATIONS}

for line in sys.stdin:
    base_url, token, organization, name, arguments = json.loads(line)
    try:
        answer = {"done": by_name[name](*arguments)}
    except GithubException as refusal:
        answer = {"refused": type(refusal).__name__, "status": refusal.status}
    print(json.dumps(answer), flush=True)
