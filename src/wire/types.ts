/** The records of the wire. Written by scripts/wire-types.ts from the schemas of /openapi.json: change those. */

export interface StartRequest {
  /**
   * `owner/name`, or the name of a repository of the caller, or of the organization.
   *
   * @maxItems 10000
   */
  repositories: string[]
  /**
   * `repositories` excludes them from the answer. Other values are ignored.
   *
   * @maxItems 10000
   */
  exclude?: string[]
  /** Lock the repositories: they refuse pushes until they are unlocked, the migration fails, or the lock expires. */
  lock_repositories?: boolean
  /** Exclude metadata of the repositories. */
  exclude_metadata?: boolean
  /** Exclude the git repositories and their wikis. */
  exclude_git_data?: boolean
  /** Exclude attachments; a git host has none. */
  exclude_attachments?: boolean
  /** Exclude releases; a git host has none. */
  exclude_releases?: boolean
  /** Exclude projects of the owner; a git host has none. */
  exclude_owner_projects?: boolean
  /** Export only metadata of the organization, or of those that the caller administers. `repositories` is ignored. */
  org_metadata_only?: boolean
  /** Skip repositories that cannot be exported, instead of failing. An extension of this server. */
  allow_partial?: boolean
}
/**
 * A migration of repositories.
 *
 */
export interface Migration {
  id: number
  /** Opaque. */
  node_id: string
  owner: User
  guid: string
  /** `pending`, then `exporting`, then `exported` or `failed`; or from `pending` directly to `failed`. It never goes back. A cancelled migration is `failed`. */
  state: 'pending' | 'exporting' | 'exported' | 'failed'
  /** As requested at the start. */
  lock_repositories: boolean
  /** As requested at the start. */
  exclude_metadata: boolean
  /** As requested at the start. */
  exclude_git_data: boolean
  /** As requested at the start. */
  exclude_attachments: boolean
  /** As requested at the start. */
  exclude_releases: boolean
  /** As requested at the start. */
  exclude_owner_projects: boolean
  /** As requested at the start. */
  org_metadata_only: boolean
  /** In the requested order; empty if the caller excluded them. */
  repositories: ExtendedRepository[]
  url: string
  /** With the offset of the server's time zone. */
  created_at: string
  /** With the offset of the server's time zone. */
  updated_at: string
  /** Present while there is an archive to download. */
  archive_url?: string
}
/**
 * A person or an organization.
 *
 */
export interface User {
  /** Shown as on the host; case is ignored when compared. */
  login: string
  id: number
  /** Opaque. */
  node_id: string
  avatar_url: string
  url: string
  html_url: string
  /** Always empty. */
  gravatar_id: string
  following_url: string
  gists_url: string
  starred_url: string
  events_url: string
  followers_url: string
  subscriptions_url: string
  organizations_url: string
  repos_url: string
  received_events_url: string
  type: 'User' | 'Organization'
  site_admin: boolean
}
/**
 * A repository with all fields.
 *
 */
export interface ExtendedRepository {
  id: number
  /** Opaque. */
  node_id: string
  name: string
  /** Login of the owner, a slash, and the name. */
  full_name: string
  owner: User
  private: boolean
  fork: boolean
  is_template: boolean
  archived: boolean
  disabled: boolean
  /** Empty if there is none. */
  description: string
  html_url: string
  url: string
  archive_url: string
  assignees_url: string
  blobs_url: string
  branches_url: string
  collaborators_url: string
  comments_url: string
  commits_url: string
  compare_url: string
  contents_url: string
  contributors_url: string
  deployments_url: string
  downloads_url: string
  events_url: string
  forks_url: string
  git_commits_url: string
  git_refs_url: string
  git_tags_url: string
  git_url: string
  issue_comment_url: string
  issue_events_url: string
  issues_url: string
  keys_url: string
  labels_url: string
  languages_url: string
  merges_url: string
  milestones_url: string
  notifications_url: string
  pulls_url: string
  releases_url: string
  /** For `git clone`; can have the form `user@host:path`. */
  ssh_url: string
  stargazers_url: string
  statuses_url: string
  subscribers_url: string
  subscription_url: string
  tags_url: string
  teams_url: string
  trees_url: string
  clone_url: string
  /** The source of a mirror; otherwise the address to mirror this repository from. */
  mirror_url: string
  hooks_url: string
  svn_url: string
  homepage: string | null
  /** The language with the most bytes. */
  language: string | null
  forks_count: number
  /** Always 0: a git host has none. */
  stargazers_count: number
  /** Always 0: a git host has none. */
  watchers_count: number
  /** Always 0: a git host has none. */
  open_issues_count: number
  /** Size on disk in KiB. */
  size: number
  default_branch: string
  topics: string[]
  has_issues: boolean
  has_projects: boolean
  has_wiki: boolean
  has_pages: boolean
  has_downloads: boolean
  visibility: 'private' | 'public'
  /** Time of the newest commit of any ref, in UTC. */
  pushed_at: string
  /** In UTC. */
  created_at: string
  /** In UTC. */
  updated_at: string
  /** Permissions of the caller. */
  permissions: {
    admin: boolean
    push: boolean
    pull: boolean
  }
  /** The template of this repository; null if there is none or the caller may not read it. */
  template_repository: ExtendedRepository | null
  allow_rebase_merge: boolean
  allow_squash_merge: boolean
  allow_merge_commit: boolean
  delete_branch_on_merge: boolean
  /** For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty. */
  temp_clone_token: string
  /** Always 0: a git host has none. */
  subscribers_count: number
  /** Always 0: a git host has none. */
  open_issues: number
  /** Always 0: a git host has none. */
  watchers: number
  network_count: number
  forks: number
  license: License | null
}
/**
 * A licence, detected from its text or set by the operator.
 *
 */
export interface License {
  key: string
  name: string
  spdx_id: string
  node_id: string
  url: string
  html_url: string
}
/**
 * A repository at the time when the migration started.
 *
 */
export interface Repository {
  id: number
  /** Opaque. */
  node_id: string
  name: string
  /** Login of the owner, a slash, and the name. */
  full_name: string
  owner: User
  private: boolean
  fork: boolean
  is_template: boolean
  archived: boolean
  disabled: boolean
  /** Empty if there is none. */
  description: string
  html_url: string
  url: string
  archive_url: string
  assignees_url: string
  blobs_url: string
  branches_url: string
  collaborators_url: string
  comments_url: string
  commits_url: string
  compare_url: string
  contents_url: string
  contributors_url: string
  deployments_url: string
  downloads_url: string
  events_url: string
  forks_url: string
  git_commits_url: string
  git_refs_url: string
  git_tags_url: string
  git_url: string
  issue_comment_url: string
  issue_events_url: string
  issues_url: string
  keys_url: string
  labels_url: string
  languages_url: string
  merges_url: string
  milestones_url: string
  notifications_url: string
  pulls_url: string
  releases_url: string
  /** For `git clone`; can have the form `user@host:path`. */
  ssh_url: string
  stargazers_url: string
  statuses_url: string
  subscribers_url: string
  subscription_url: string
  tags_url: string
  teams_url: string
  trees_url: string
  clone_url: string
  /** The source of a mirror; otherwise the address to mirror this repository from. */
  mirror_url: string
  hooks_url: string
  svn_url: string
  homepage: string | null
  /** The language with the most bytes. */
  language: string | null
  forks_count: number
  /** Always 0: a git host has none. */
  stargazers_count: number
  /** Always 0: a git host has none. */
  watchers_count: number
  /** Always 0: a git host has none. */
  open_issues_count: number
  /** Size on disk in KiB. */
  size: number
  default_branch: string
  topics: string[]
  has_issues: boolean
  has_projects: boolean
  has_wiki: boolean
  has_pages: boolean
  has_downloads: boolean
  visibility: 'private' | 'public'
  /** Time of the newest commit of any ref, in UTC. */
  pushed_at: string
  /** In UTC. */
  created_at: string
  /** In UTC. */
  updated_at: string
  /** Permissions of the caller. */
  permissions: {
    admin: boolean
    push: boolean
    pull: boolean
  }
  /** The template of this repository; null if there is none or the caller may not read it. */
  template_repository: ExtendedRepository | null
}
/**
 * A repository in its current state.
 *
 */
export interface FullRepository {
  id: number
  /** Opaque. */
  node_id: string
  name: string
  /** Login of the owner, a slash, and the name. */
  full_name: string
  owner: User
  private: boolean
  fork: boolean
  is_template: boolean
  archived: boolean
  disabled: boolean
  /** Empty if there is none. */
  description: string
  html_url: string
  url: string
  archive_url: string
  assignees_url: string
  blobs_url: string
  branches_url: string
  collaborators_url: string
  comments_url: string
  commits_url: string
  compare_url: string
  contents_url: string
  contributors_url: string
  deployments_url: string
  downloads_url: string
  events_url: string
  forks_url: string
  git_commits_url: string
  git_refs_url: string
  git_tags_url: string
  git_url: string
  issue_comment_url: string
  issue_events_url: string
  issues_url: string
  keys_url: string
  labels_url: string
  languages_url: string
  merges_url: string
  milestones_url: string
  notifications_url: string
  pulls_url: string
  releases_url: string
  /** For `git clone`; can have the form `user@host:path`. */
  ssh_url: string
  stargazers_url: string
  statuses_url: string
  subscribers_url: string
  subscription_url: string
  tags_url: string
  teams_url: string
  trees_url: string
  clone_url: string
  /** The source of a mirror; otherwise the address to mirror this repository from. */
  mirror_url: string
  hooks_url: string
  svn_url: string
  homepage: string | null
  /** The language with the most bytes. */
  language: string | null
  forks_count: number
  /** Always 0: a git host has none. */
  stargazers_count: number
  /** Always 0: a git host has none. */
  watchers_count: number
  /** Always 0: a git host has none. */
  open_issues_count: number
  /** Size on disk in KiB. */
  size: number
  default_branch: string
  topics: string[]
  has_issues: boolean
  has_projects: boolean
  has_wiki: boolean
  has_pages: boolean
  has_downloads: boolean
  visibility: 'private' | 'public'
  /** Time of the newest commit of any ref, in UTC. */
  pushed_at: string
  /** In UTC. */
  created_at: string
  /** In UTC. */
  updated_at: string
  /** Permissions of the caller. */
  permissions: {
    admin: boolean
    push: boolean
    pull: boolean
  }
  /** The template of this repository; null if there is none or the caller may not read it. */
  template_repository: ExtendedRepository | null
  allow_rebase_merge: boolean
  allow_squash_merge: boolean
  allow_merge_commit: boolean
  delete_branch_on_merge: boolean
  /** For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty. */
  temp_clone_token: string
  /** Always 0: a git host has none. */
  subscribers_count: number
  /** Always 0: a git host has none. */
  open_issues: number
  /** Always 0: a git host has none. */
  watchers: number
  network_count: number
  forks: number
  license: License | null
  has_discussions: false
  organization?: User1
  parent?: ExtendedRepository1
  source?: ExtendedRepository2
}
/** A person or an organization. */
export interface User1 {
  /** Shown as on the host; case is ignored when compared. */
  login: string
  id: number
  /** Opaque. */
  node_id: string
  avatar_url: string
  url: string
  html_url: string
  /** Always empty. */
  gravatar_id: string
  following_url: string
  gists_url: string
  starred_url: string
  events_url: string
  followers_url: string
  subscriptions_url: string
  organizations_url: string
  repos_url: string
  received_events_url: string
  type: 'User' | 'Organization'
  site_admin: boolean
}
/** A repository with all fields. */
export interface ExtendedRepository1 {
  id: number
  /** Opaque. */
  node_id: string
  name: string
  /** Login of the owner, a slash, and the name. */
  full_name: string
  owner: User
  private: boolean
  fork: boolean
  is_template: boolean
  archived: boolean
  disabled: boolean
  /** Empty if there is none. */
  description: string
  html_url: string
  url: string
  archive_url: string
  assignees_url: string
  blobs_url: string
  branches_url: string
  collaborators_url: string
  comments_url: string
  commits_url: string
  compare_url: string
  contents_url: string
  contributors_url: string
  deployments_url: string
  downloads_url: string
  events_url: string
  forks_url: string
  git_commits_url: string
  git_refs_url: string
  git_tags_url: string
  git_url: string
  issue_comment_url: string
  issue_events_url: string
  issues_url: string
  keys_url: string
  labels_url: string
  languages_url: string
  merges_url: string
  milestones_url: string
  notifications_url: string
  pulls_url: string
  releases_url: string
  /** For `git clone`; can have the form `user@host:path`. */
  ssh_url: string
  stargazers_url: string
  statuses_url: string
  subscribers_url: string
  subscription_url: string
  tags_url: string
  teams_url: string
  trees_url: string
  clone_url: string
  /** The source of a mirror; otherwise the address to mirror this repository from. */
  mirror_url: string
  hooks_url: string
  svn_url: string
  homepage: string | null
  /** The language with the most bytes. */
  language: string | null
  forks_count: number
  /** Always 0: a git host has none. */
  stargazers_count: number
  /** Always 0: a git host has none. */
  watchers_count: number
  /** Always 0: a git host has none. */
  open_issues_count: number
  /** Size on disk in KiB. */
  size: number
  default_branch: string
  topics: string[]
  has_issues: boolean
  has_projects: boolean
  has_wiki: boolean
  has_pages: boolean
  has_downloads: boolean
  visibility: 'private' | 'public'
  /** Time of the newest commit of any ref, in UTC. */
  pushed_at: string
  /** In UTC. */
  created_at: string
  /** In UTC. */
  updated_at: string
  /** Permissions of the caller. */
  permissions: {
    admin: boolean
    push: boolean
    pull: boolean
  }
  /** The template of this repository; null if there is none or the caller may not read it. */
  template_repository: ExtendedRepository | null
  allow_rebase_merge: boolean
  allow_squash_merge: boolean
  allow_merge_commit: boolean
  delete_branch_on_merge: boolean
  /** For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty. */
  temp_clone_token: string
  /** Always 0: a git host has none. */
  subscribers_count: number
  /** Always 0: a git host has none. */
  open_issues: number
  /** Always 0: a git host has none. */
  watchers: number
  network_count: number
  forks: number
  license: License | null
}
/** A repository with all fields. */
export interface ExtendedRepository2 {
  id: number
  /** Opaque. */
  node_id: string
  name: string
  /** Login of the owner, a slash, and the name. */
  full_name: string
  owner: User
  private: boolean
  fork: boolean
  is_template: boolean
  archived: boolean
  disabled: boolean
  /** Empty if there is none. */
  description: string
  html_url: string
  url: string
  archive_url: string
  assignees_url: string
  blobs_url: string
  branches_url: string
  collaborators_url: string
  comments_url: string
  commits_url: string
  compare_url: string
  contents_url: string
  contributors_url: string
  deployments_url: string
  downloads_url: string
  events_url: string
  forks_url: string
  git_commits_url: string
  git_refs_url: string
  git_tags_url: string
  git_url: string
  issue_comment_url: string
  issue_events_url: string
  issues_url: string
  keys_url: string
  labels_url: string
  languages_url: string
  merges_url: string
  milestones_url: string
  notifications_url: string
  pulls_url: string
  releases_url: string
  /** For `git clone`; can have the form `user@host:path`. */
  ssh_url: string
  stargazers_url: string
  statuses_url: string
  subscribers_url: string
  subscription_url: string
  tags_url: string
  teams_url: string
  trees_url: string
  clone_url: string
  /** The source of a mirror; otherwise the address to mirror this repository from. */
  mirror_url: string
  hooks_url: string
  svn_url: string
  homepage: string | null
  /** The language with the most bytes. */
  language: string | null
  forks_count: number
  /** Always 0: a git host has none. */
  stargazers_count: number
  /** Always 0: a git host has none. */
  watchers_count: number
  /** Always 0: a git host has none. */
  open_issues_count: number
  /** Size on disk in KiB. */
  size: number
  default_branch: string
  topics: string[]
  has_issues: boolean
  has_projects: boolean
  has_wiki: boolean
  has_pages: boolean
  has_downloads: boolean
  visibility: 'private' | 'public'
  /** Time of the newest commit of any ref, in UTC. */
  pushed_at: string
  /** In UTC. */
  created_at: string
  /** In UTC. */
  updated_at: string
  /** Permissions of the caller. */
  permissions: {
    admin: boolean
    push: boolean
    pull: boolean
  }
  /** The template of this repository; null if there is none or the caller may not read it. */
  template_repository: ExtendedRepository | null
  allow_rebase_merge: boolean
  allow_squash_merge: boolean
  allow_merge_commit: boolean
  delete_branch_on_merge: boolean
  /** For a private repository, a token to clone it with: the password of any user name, for reading only, valid for an hour. Otherwise empty. */
  temp_clone_token: string
  /** Always 0: a git host has none. */
  subscribers_count: number
  /** Always 0: a git host has none. */
  open_issues: number
  /** Always 0: a git host has none. */
  watchers: number
  network_count: number
  forks: number
  license: License | null
}
/**
 * A branch.
 *
 */
export interface Branch {
  name: string
  commit: {
    sha: string
    url: string
  }
  /** Set for the default branch, if the config of the repository denies deletes or non-fast-forwards. */
  protected: boolean
}
/**
 * A tag and the commit that it names in the end.
 *
 */
export interface Tag {
  name: string
  /** This server does not answer there. */
  zipball_url: string
  /** This server does not answer there. */
  tarball_url: string
  commit: {
    sha: string
    url: string
  }
  /** Opaque. */
  node_id: string
}
/**
 * Topics.
 *
 */
export interface Topics {
  names: string[]
}
/**
 * Bytes by language, the largest first.
 *
 */
export interface Languages {
  [k: string]: number
}
/**
 * Somebody who may read or change a repository.
 *
 */
export interface Collaborator {
  /** Shown as on the host; case is ignored when compared. */
  login: string
  id: number
  /** Opaque. */
  node_id: string
  avatar_url: string
  url: string
  html_url: string
  /** Always empty. */
  gravatar_id: string
  following_url: string
  gists_url: string
  starred_url: string
  events_url: string
  followers_url: string
  subscriptions_url: string
  organizations_url: string
  repos_url: string
  received_events_url: string
  type: 'User' | 'Organization'
  site_admin: boolean
  permissions: {
    admin: boolean
    maintain: boolean
    push: boolean
    triage: boolean
    pull: boolean
  }
  role_name: 'read' | 'triage' | 'write' | 'maintain' | 'admin'
}
/**
 * The licence file of a repository.
 *
 */
export interface LicenseContent {
  name: string
  path: string
  sha: string
  type: string
  /** In bytes. */
  size: number
  url: string
  html_url: string
  git_url: string
  /** Always null. */
  download_url: string | null
  /** In base64. */
  content: string
  encoding: 'base64'
  _links: {
    self: string
    git: string
    html: string
  }
  license: License | null
}
/**
 * A licence with its text.
 *
 */
export interface LicenseText {
  key: string
  name: string
  spdx_id: string
  node_id: string
  url: string
  html_url: string
  description: string
  implementation: string
  /** Known for the commonly used licences; empty for the others. */
  permissions: string[]
  /** Known for the commonly used licences; empty for the others. */
  conditions: string[]
  /** Known for the commonly used licences; empty for the others. */
  limitations: string[]
  /** The text. */
  body: string
  featured: boolean
}
/**
 * The progress of a migration.
 *
 */
export interface Progress {
  state: 'pending' | 'exporting' | 'exported' | 'failed' | 'cancelled'
  /** Why it failed. */
  reason: string | null
  started_at: string | null
  ended_at: string | null
  totals: {
    repositories: number
    exported: number
    reused: number
    skipped: number
    failed: number
    remaining: number
    bytes_done: number
    /** From the catalogue, until the repositories have been examined. Without skipped and failed ones. */
    bytes_expected: number
    /** Average of the whole export, without reused repositories. */
    bytes_per_second: number | null
    /** Null while no estimate is possible. */
    seconds_left: number | null
    /** Issues and pull requests that were read of the forge. */
    records_done: number
    /** As far as they are known. */
    records_expected: number
    /** When the forge can be asked again; null if nothing waits for that. */
    waiting_until: string | null
  }
  repositories: RepositoryProgress[]
}
/**
 * The progress of one repository of a migration.
 *
 */
export interface RepositoryProgress {
  full_name: string
  /** `failed` if the migration fails because of it; `skipped` if the migration allows partial archives. */
  state: 'waiting' | 'exporting' | 'exported' | 'skipped' | 'failed'
  bytes_done: number
  /** From the catalogue, until the repository has been examined. */
  bytes_expected: number
  /** Exported before and unchanged since then. */
  reused: boolean
  /** Why it was skipped or failed. */
  reason: string | null
  /** A warning about an exported repository, such as missing LFS objects, or what GitHub's importers refuse. */
  warning: string | null
  started_at: string | null
  finished_at: string | null
  /** Issues and pull requests of the forge; null if there is no forge, or they have not been read yet. */
  records: {
    done: number
    expected: number
    /** The records are at least as new as this. */
    as_of: string | null
    /** When the forge can be asked again. */
    waiting_until: string | null
    /** Why the forge cannot be asked now. */
    waiting_for: string | null
    /** What the forge does not give. */
    notes: string[]
  } | null
}
/**
 * The data of an event `progress`.
 *
 */
export interface ProgressUpdate {
  repositories: number
  exported: number
  reused: number
  skipped: number
  failed: number
  remaining: number
  bytes_done: number
  /** From the catalogue, until the repositories have been examined. Without skipped and failed ones. */
  bytes_expected: number
  /** Average of the whole export, without reused repositories. */
  bytes_per_second: number | null
  /** Null while no estimate is possible. */
  seconds_left: number | null
  /** Issues and pull requests that were read of the forge. */
  records_done: number
  /** As far as they are known. */
  records_expected: number
  /** When the forge can be asked again; null if nothing waits for that. */
  waiting_until: string | null
  state: 'pending' | 'exporting' | 'exported' | 'failed' | 'cancelled'
  started_at: string | null
  /** The repositories that are being exported. */
  under_way: RepositoryProgress[]
}
/**
 * The data of an event `end`.
 *
 */
export interface ProgressEnd {
  state: 'pending' | 'exporting' | 'exported' | 'failed' | 'cancelled'
  /** Why it failed. */
  reason: string | null
}
/**
 * The result of a migration.
 *
 */
export interface Report {
  id: number
  guid: string
  login: string
  /** Null before it has started. */
  seconds: number | null
  /** Warnings about the archive as a whole, such as damaged data, a size that GitHub's importers refuse, or one that the disk has no space for. */
  warnings: string[]
  state: 'pending' | 'exporting' | 'exported' | 'failed' | 'cancelled'
  /** Why it failed. */
  reason: string | null
  started_at: string | null
  ended_at: string | null
  totals: {
    repositories: number
    exported: number
    reused: number
    skipped: number
    failed: number
    remaining: number
    bytes_done: number
    /** From the catalogue, until the repositories have been examined. Without skipped and failed ones. */
    bytes_expected: number
    /** Average of the whole export, without reused repositories. */
    bytes_per_second: number | null
    /** Null while no estimate is possible. */
    seconds_left: number | null
    /** Issues and pull requests that were read of the forge. */
    records_done: number
    /** As far as they are known. */
    records_expected: number
    /** When the forge can be asked again; null if nothing waits for that. */
    waiting_until: string | null
  }
  repositories: RepositoryProgress[]
}
/**
 * An estimate of a migration.
 *
 */
export interface Forecast {
  repositories: {
    full_name: string
    bytes: number
    lfs_bytes: number
    /** Exported before and unchanged since then: it will be reused. */
    reused: boolean
    /** Why it would be skipped. */
    reason: string | null
    /** A warning about a repository that can be exported. */
    warning: string | null
  }[]
  bytes_to_write: number
  /** Free disk space for archives; null if unknown, or if a bucket is used. */
  free_bytes: number | null
  /** Null if there is no earlier export to estimate from. */
  estimated_seconds: number | null
  /** Warnings about the archive as a whole, such as damaged data, a size that GitHub's importers refuse, or one that the disk has no space for. */
  warnings: string[]
}
/**
 * What a retry of a migration has to expect.
 *
 */
export interface RetryForecast {
  /** The repositories that could not be exported, and those that are gone. */
  broken: {
    full_name: string
    reason: string
    /** Whether the repository no longer exists, or may no longer be migrated. With `allow_partial` it is skipped, without it a retry is refused. */
    gone: boolean
    /** Whether the repository has changed since then. Null if unknown. */
    changed: boolean | null
  }[]
  /** None of them has changed: a retry would end in the same way. */
  unchanged: boolean
}
export interface RetryRequest {
  /** Skip repositories that cannot be exported, instead of failing. */
  allow_partial?: boolean
}
/**
 * A migration and its result, without its repositories.
 *
 */
export interface Summary {
  id: number
  guid: string
  state: 'pending' | 'exporting' | 'exported' | 'failed' | 'cancelled'
  /** Why it failed: one line for each repository that could not be exported; or `cancelled`. */
  reason: string | null
  lock_repositories: boolean
  exclude_metadata: boolean
  exclude_git_data: boolean
  org_metadata_only: boolean
  allow_partial: boolean
  created_at: string
  started_at: string | null
  ended_at: string | null
  repositories: {
    total: number
    skipped: number
    failed: number
    remaining: number
    /** Including reused repositories. */
    exported: number
    /** Exported before and unchanged since then. */
    reused: number
  }
  /** Total size of the exported repositories. */
  bytes_done: number
  /** Null if there is no archive to download. */
  archive: {
    bytes: number
    expires_at: string
    /** Stored data is damaged: start a new migration. The report names it. */
    damaged: boolean
  } | null
  /** Number of repositories that it locks. */
  held_locks: number
  /** Names of the first three repositories. */
  names: string[]
}
/**
 * A locked repository.
 *
 */
export interface Lock {
  full_name: string
  locked_at: string
  /** When the lock expires. */
  expires_at: string
}
/**
 * A locked repository, and the migration that locks it.
 *
 */
export interface HeldLock {
  full_name: string
  locked_at: string
  /** When the lock expires. */
  expires_at: string
  migration_id: number
  /** The account whose migration locks it. */
  login: string
}
/**
 * A link to download an archive.
 *
 */
export interface ArchiveLink {
  /** A credential: anyone who has it can download the archive. */
  url: string
  /** File name of the archive. */
  name: string
  /** Size of the archive. */
  bytes: number
  /** When the link expires. */
  expires_at: string
}
/**
 * A migration that is started every day or every week.
 *
 */
export interface Schedule {
  id: number
  url: string
  /** The account or organization whose migrations it starts. */
  owner: string
  /** The account that it runs as. */
  created_by: string
  /** Full names. */
  repositories: string[]
  /** Lock the repositories: they refuse pushes until they are unlocked, the migration fails, or the lock expires. */
  lock_repositories: boolean
  /** Exclude metadata of the repositories. */
  exclude_metadata: boolean
  /** Exclude the git repositories and their wikis. */
  exclude_git_data: boolean
  /** Exclude attachments; a git host has none. */
  exclude_attachments: boolean
  /** Exclude releases; a git host has none. */
  exclude_releases: boolean
  /** Exclude projects of the owner; a git host has none. */
  exclude_owner_projects: boolean
  /** Export only metadata of the organization, or of those that the caller administers. `repositories` is ignored. */
  org_metadata_only: boolean
  /** Skip repositories that cannot be exported, instead of failing. An extension of this server. */
  allow_partial: boolean
  /** How often. */
  every: 'day' | 'week'
  /** For `every: week`, and only then. */
  weekday: 'sunday' | 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | null
  /** Time of the day in `time_zone`, such as `03:30`. A time that does not exist on a day, because the clocks go forward, runs at the first moment after; one that occurs twice runs once, the first time. */
  at: string
  /** IANA name of a time zone, such as `Europe/Zurich` or `UTC`. */
  time_zone: string
  /** How many archives to keep: when a run is exported, older archives of this schedule are deleted, except those that hold a repository which no newer one holds (`protected_archives`). Archives that are kept do not expire. */
  keep: number
  /** A paused schedule does not run. */
  paused: boolean
  /** Why the service stopped it; null if somebody paused it. */
  paused_reason: string | null
  /** Null while it is paused. */
  next_run_at: string | null
  /** Null before the first. */
  last_run: ScheduleRun | null
  /** Archives that are kept beyond `keep`, newest first, because each holds repositories that no newer archive of the schedule holds. */
  protected_archives: {
    /** The migration whose archive it is. */
    migration_id: number
    /** When that migration was started. */
    created_at: string
    /** Full names of the repositories that no newer archive of the schedule holds. */
    repositories: string[]
  }[]
  created_at: string
  updated_at: string
}
/**
 * One run of a schedule.
 *
 */
export interface ScheduleRun {
  id: number
  /** When it was due; null if somebody asked for it. */
  due_at: string | null
  /** When it was started, skipped, or failed to start. */
  created_at: string
  /** The migration that it started; null if it started none. */
  migration_id: number | null
  /** The state of the migration. `skipped`: the schedule's last migration had not ended. `failed` without a migration: none could be started. */
  state: 'pending' | 'exporting' | 'exported' | 'failed' | 'cancelled' | 'skipped'
  /** Why it failed or was skipped. */
  reason: string | null
  /** Repositories that the account could not migrate any more, with the reason. */
  skipped_repositories: {
    full_name: string
    reason: string
  }[]
  /** Whether there is an archive to download. */
  has_archive: boolean
}
export interface ScheduleRequest {
  /**
   * `owner/name`, or the name of a repository of the caller, or of the organization.
   *
   * @maxItems 10000
   */
  repositories: string[]
  /** Lock the repositories: they refuse pushes until they are unlocked, the migration fails, or the lock expires. */
  lock_repositories?: boolean
  /** Exclude metadata of the repositories. */
  exclude_metadata?: boolean
  /** Exclude the git repositories and their wikis. */
  exclude_git_data?: boolean
  /** Exclude attachments; a git host has none. */
  exclude_attachments?: boolean
  /** Exclude releases; a git host has none. */
  exclude_releases?: boolean
  /** Exclude projects of the owner; a git host has none. */
  exclude_owner_projects?: boolean
  /** Export only metadata of the organization, or of those that the caller administers. `repositories` is ignored. */
  org_metadata_only?: boolean
  /** Skip repositories that cannot be exported, instead of failing. An extension of this server. */
  allow_partial?: boolean
  /** How often. */
  every: 'day' | 'week'
  /** For `every: week`, and only then. */
  weekday?:
    | 'sunday'
    | 'monday'
    | 'tuesday'
    | 'wednesday'
    | 'thursday'
    | 'friday'
    | 'saturday'
    | null
  /** Time of the day in `time_zone`, such as `03:30`. A time that does not exist on a day, because the clocks go forward, runs at the first moment after; one that occurs twice runs once, the first time. */
  at: string
  /** IANA name of a time zone, such as `Europe/Zurich` or `UTC`. */
  time_zone: string
  /** How many archives to keep: when a run is exported, older archives of this schedule are deleted, except those that hold a repository which no newer one holds (`protected_archives`). Archives that are kept do not expire. */
  keep?: number
  /** A paused schedule does not run. */
  paused?: boolean
}
export interface ScheduleChange {
  /**
   * `owner/name`, or the name of a repository of the caller, or of the organization.
   *
   * @maxItems 10000
   */
  repositories?: string[]
  /** Lock the repositories: they refuse pushes until they are unlocked, the migration fails, or the lock expires. */
  lock_repositories?: boolean
  /** Exclude metadata of the repositories. */
  exclude_metadata?: boolean
  /** Exclude the git repositories and their wikis. */
  exclude_git_data?: boolean
  /** Exclude attachments; a git host has none. */
  exclude_attachments?: boolean
  /** Exclude releases; a git host has none. */
  exclude_releases?: boolean
  /** Exclude projects of the owner; a git host has none. */
  exclude_owner_projects?: boolean
  /** Export only metadata of the organization, or of those that the caller administers. `repositories` is ignored. */
  org_metadata_only?: boolean
  /** Skip repositories that cannot be exported, instead of failing. An extension of this server. */
  allow_partial?: boolean
  /** How often. */
  every?: 'day' | 'week'
  /** For `every: week`, and only then. */
  weekday?:
    | 'sunday'
    | 'monday'
    | 'tuesday'
    | 'wednesday'
    | 'thursday'
    | 'friday'
    | 'saturday'
    | null
  /** Time of the day in `time_zone`, such as `03:30`. A time that does not exist on a day, because the clocks go forward, runs at the first moment after; one that occurs twice runs once, the first time. */
  at?: string
  /** IANA name of a time zone, such as `Europe/Zurich` or `UTC`. */
  time_zone?: string
  /** How many archives to keep: when a run is exported, older archives of this schedule are deleted, except those that hold a repository which no newer one holds (`protected_archives`). Archives that are kept do not expire. */
  keep?: number
  /** A paused schedule does not run. */
  paused?: boolean
}
/**
 * The account of the token.
 *
 */
export interface CurrentUser {
  /** Shown as on the host; case is ignored when compared. */
  login: string
  id: number
  /** Opaque. */
  node_id: string
  avatar_url: string
  url: string
  html_url: string
  /** Always empty. */
  gravatar_id: string
  following_url: string
  gists_url: string
  starred_url: string
  events_url: string
  followers_url: string
  subscriptions_url: string
  organizations_url: string
  repos_url: string
  received_events_url: string
  type: 'User' | 'Organization'
  site_admin: boolean
  name: string | null
  company: string | null
  location: string | null
  email: string | null
  bio: string | null
  blog: string | null
  hireable: boolean | null
  /** Number of public repositories. */
  public_repos: number
  /** Always 0: a git host has none. */
  public_gists: number
  /** Always 0: a git host has none. */
  followers: number
  /** Always 0: a git host has none. */
  following: number
  /** When the account was created here. */
  created_at: string
  updated_at: string
}
/**
 * Who is signed in with this browser.
 *
 */
export interface Session {
  user: CurrentUser | null
}
/**
 * An organization.
 *
 */
export interface Organization {
  login: string
  id: number
  /** Opaque. */
  node_id: string
  url: string
  repos_url: string
  events_url: string
  hooks_url: string
  issues_url: string
  avatar_url: string
  members_url: string
  public_members_url: string
  /** Always empty. */
  description: string
}
/**
 * An organization, with more about it.
 *
 */
export interface FullOrganization {
  login: string
  id: number
  /** Opaque. */
  node_id: string
  url: string
  repos_url: string
  events_url: string
  hooks_url: string
  issues_url: string
  avatar_url: string
  members_url: string
  public_members_url: string
  /** Always empty. */
  description: string
  name: string
  has_organization_projects: boolean
  has_repository_projects: boolean
  /** Number of public repositories. */
  public_repos: number
  /** Always 0: a git host has none. */
  public_gists: number
  /** Always 0: a git host has none. */
  followers: number
  /** Always 0: a git host has none. */
  following: number
  html_url: string
  type: 'Organization'
  /** When the account was created here. */
  created_at: string
  updated_at: string
  archived_at: null
}
/**
 * The membership of an account in an organization.
 *
 */
export interface OrganizationMembership {
  url: string
  state: 'active'
  /** `admin` for owners. */
  role: 'admin' | 'member'
  organization_url: string
  organization: Organization
  user: User
}
/**
 * A webhook: an address that is told when migrations end.
 *
 */
export interface Webhook {
  /** Whose webhook it is. */
  type: 'User' | 'Organization'
  id: number
  name: 'web'
  active: boolean
  /** `migration` for all ends of migrations, or some of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for everything. `ping` is always sent. */
  events: (
    | '*'
    | 'migration'
    | 'migration.exported'
    | 'migration.partial'
    | 'migration.failed'
    | 'migration.cancelled'
  )[]
  config: WebhookConfig
  created_at: string
  updated_at: string
  url: string
  ping_url: string
  deliveries_url: string
  /** How the last delivery went. An extension of this server for organizations. */
  last_response: {
    code: number | null
    /** Whether the last delivery succeeded. */
    status: 'unused' | 'active' | 'failing'
    message: string | null
  }
  /** Why the server made it inactive. An extension of this server. */
  disabled_reason: string | null
}
/**
 * Where and how a webhook is sent.
 *
 */
export interface WebhookConfig {
  /** Where the events are sent, by POST. */
  url: string
  /** `json`, or `form`: the JSON as the field `payload` of a form. */
  content_type: 'json' | 'form'
  /** The key of the signatures `x-hub-signature-256` and `x-hub-signature`. Answers have `********` in its place; when sent, that means no change, and an empty text removes the secret. */
  secret?: string
  insecure_ssl: '0'
}
/**
 * What webhooks are told when a migration has ended; without its repositories.
 *
 */
export interface WebhookEvent {
  /** How it ended. */
  action: 'exported' | 'partial' | 'failed' | 'cancelled'
  migration: Migration
  summary: Summary
  sender: User
  organization?: Organization
}
export interface WebhookRequest {
  /** Always `web`. */
  name?: string
  /** `migration` for all ends of migrations, or some of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for everything. `ping` is always sent. */
  events?: string[]
  /** Whether events are sent. */
  active?: boolean
  config: {
    /** Where the events are sent, by POST. */
    url: string
    /** `json`, or `form`: the JSON as the field `payload` of a form. */
    content_type?: 'json' | 'form'
    /** The key of the signatures `x-hub-signature-256` and `x-hub-signature`. Answers have `********` in its place; when sent, that means no change, and an empty text removes the secret. */
    secret?: string
    /** Always `0`: certificates are verified. Other values are refused. */
    insecure_ssl?: string | number
  }
}
export interface WebhookChange {
  /** Always `web`. */
  name?: string
  /** `migration` for all ends of migrations, or some of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for everything. `ping` is always sent. */
  events?: string[]
  /** Whether events are sent. */
  active?: boolean
  config?: {
    /** Where the events are sent, by POST. */
    url?: string
    /** `json`, or `form`: the JSON as the field `payload` of a form. */
    content_type?: 'json' | 'form'
    /** The key of the signatures `x-hub-signature-256` and `x-hub-signature`. Answers have `********` in its place; when sent, that means no change, and an empty text removes the secret. */
    secret?: string
    /** Always `0`: certificates are verified. Other values are refused. */
    insecure_ssl?: string | number
  }
}
export interface WebhookConfigChange {
  /** Where the events are sent, by POST. */
  url?: string
  /** `json`, or `form`: the JSON as the field `payload` of a form. */
  content_type?: 'json' | 'form'
  /** The key of the signatures `x-hub-signature-256` and `x-hub-signature`. Answers have `********` in its place; when sent, that means no change, and an empty text removes the secret. */
  secret?: string
  /** Always `0`: certificates are verified. Other values are refused. */
  insecure_ssl?: string | number
}
/**
 * One try to deliver an event to a webhook.
 *
 */
export interface WebhookDelivery {
  id: number
  /** Of the event: the same at every try, as in its header. */
  guid: string
  delivered_at: string
  /** Whether the event was sent before. */
  redelivery: boolean
  /** In seconds. */
  duration: number
  /** `OK`, or what went wrong. */
  status: string
  /** Of the answer; 0 if there was none. */
  status_code: number
  event: 'migration' | 'ping'
  action: string | null
  installation_id: null
  repository_id: null
  throttled_at: null
  /** Of the event by now. An extension of this server. */
  state: 'waiting' | 'delivered' | 'given_up'
  /** When the event is sent again, if it is. An extension of this server. */
  next_attempt_at: string | null
}
/**
 * One try to deliver an event to a webhook, and what was said on both sides.
 *
 */
export interface FullWebhookDelivery {
  id: number
  /** Of the event: the same at every try, as in its header. */
  guid: string
  delivered_at: string
  /** Whether the event was sent before. */
  redelivery: boolean
  /** In seconds. */
  duration: number
  /** `OK`, or what went wrong. */
  status: string
  /** Of the answer; 0 if there was none. */
  status_code: number
  event: 'migration' | 'ping'
  action: string | null
  installation_id: null
  repository_id: null
  throttled_at: null
  /** Of the event by now. An extension of this server. */
  state: 'waiting' | 'delivered' | 'given_up'
  /** When the event is sent again, if it is. An extension of this server. */
  next_attempt_at: string | null
  url: string
  request: {
    headers: {
      [k: string]: string
    }
    payload: {
      [k: string]: unknown
    }
  }
  response: {
    headers: {
      [k: string]: string
    } | null
    /** The first 4096 bytes. */
    payload: string | null
  }
}
/**
 * The rate limit of the caller.
 *
 */
export interface RateLimit {
  resources: {
    core: {
      /** Maximum number of requests per hour; 0 for no limit. */
      limit: number
      remaining: number
      used: number
      /** Time when the limit is reset, in seconds since 1970 (UTC). */
      reset: number
      resource: 'core' | 'search'
    }
    search: {
      /** Maximum number of requests per hour; 0 for no limit. */
      limit: number
      remaining: number
      used: number
      /** Time when the limit is reset, in seconds since 1970 (UTC). */
      reset: number
      resource: 'core' | 'search'
    }
  }
  rate: {
    /** Maximum number of requests per hour; 0 for no limit. */
    limit: number
    remaining: number
    used: number
    /** Time when the limit is reset, in seconds since 1970 (UTC). */
    reset: number
    resource: 'core' | 'search'
  }
}
/**
 * Addresses of the API. Many of them do not exist on a git host.
 *
 */
export interface Root {
  current_user_url: string
  authorizations_url: string
  emails_url: string
  emojis_url: string
  events_url: string
  feeds_url: string
  followers_url: string
  issues_url: string
  keys_url: string
  notifications_url: string
  public_gists_url: string
  rate_limit_url: string
  starred_gists_url: string
  user_organizations_url: string
  current_user_authorizations_html_url: string
  code_search_url: string
  commit_search_url: string
  following_url: string
  gists_url: string
  issue_search_url: string
  label_search_url: string
  organization_url: string
  organization_repositories_url: string
  organization_teams_url: string
  repository_url: string
  repository_search_url: string
  current_user_repositories_url: string
  starred_url: string
  topic_search_url: string
  user_url: string
  user_repositories_url: string
  user_search_url: string
  /** An extension of this server. */
  user_migrations_url: string
  /** An extension of this server. */
  user_migration_url: string
  /** An extension of this server. */
  documentation_url: string
  /** Media type of the preview, for `accept`. An extension of this server. */
  media_type: string
}
/**
 * The state of the whole service.
 *
 */
export interface ServiceState {
  observed_at: string
  /** Version of the process that answers. */
  version: string
  /** Number of migrations in each state. */
  migrations: {
    pending: number
    exporting: number
    exported: number
    failed: number
    cancelled: number
  }
  /** The oldest unfinished migrations. */
  running: {
    id: number
    guid: string
    login: string
    state: 'pending' | 'exporting' | 'exported' | 'failed' | 'cancelled'
    created_at: string
    started_at: string | null
    repositories: {
      total: number
      skipped: number
      failed: number
      remaining: number
      /** Including reused repositories. */
      exported: number
      /** Exported before and unchanged since then. */
      reused: number
    }
    bytes_done: number
  }[]
  queue: {
    jobs: number
    /** Null if nothing is waiting. */
    oldest_at: string | null
    kinds: {
      kind: string
      jobs: number
      oldest_at: string
    }[]
  }
  throughput: {
    period: 'hour' | 'day' | 'week'
    bucket_seconds: number
    /** Oldest first; the last one is not complete yet. */
    buckets: {
      start: string
      /** Exported repositories, including reused ones. */
      repositories: number
      reused: number
      skipped: number
      failed: number
      migrations_exported: number
      migrations_failed: number
      migrations_cancelled: number
      /** Bytes written, without reused repositories. */
      bytes: number
      bytes_reused: number
    }[]
  }
  storage: {
    /** Held in all: by archives, for reuse, and as scratch. */
    used_bytes: number
    /** Held by archives and running exports. What several archives share counts once. */
    archive_bytes: number
    /** Held only for reuse by later exports. */
    reuse_bytes: number
    /** Held by snapshots of running exports. */
    scratch_bytes: number
    segments: number
    archives: number
    /** Null if a bucket is used, or if unknown. */
    free_bytes: number | null
  }
  locks: {
    held: number
    /** The newest locks. */
    newest: HeldLock[]
  }
  /** The newest migrations that failed, or skipped repositories. */
  failures: {
    id: number
    guid: string
    login: string
    /** `exported` if only some of its repositories could not be exported. */
    state: 'exported' | 'failed'
    ended_at: string | null
    reason: string | null
    counts: {
      total: number
      skipped: number
      failed: number
      remaining: number
      /** Including reused repositories. */
      exported: number
      /** Exported before and unchanged since then. */
      reused: number
    }
    /** The first repositories that could not be exported. */
    repositories: {
      full_name: string
      reason: string
    }[]
  }[]
  workers: {
    id: string
    host: string
    version: string
    pid: number
    role: 'all' | 'api' | 'worker'
    /** Maximum number of jobs at the same time. */
    concurrency: number
    running_jobs: number
    started_at: string
    /** Its last heartbeat; there is one every ten seconds. */
    seen_at: string
    alive: boolean
  }[]
  /** The largest archives. */
  archives: {
    id: number
    guid: string
    login: string
    bytes: number
    expires_at: string | null
  }[]
  /** What `godwit check` last found of each repository. */
  checks: {
    passed: number
    failed: number
    /** Null if no repository has been checked. */
    newest_at: string | null
    /** The newest failures. */
    problems: {
      full_name: string
      checked_at: string
      reason: string
    }[]
  }
}
/**
 * An access token, without the secret.
 *
 */
export interface Token {
  id: number
  login: string
  name: string
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  revoked_at: string | null
}
/**
 * An error.
 *
 */
export interface Error {
  message: string
  documentation_url: string
  /** The HTTP status as a string. */
  status: string
}
/**
 * The request is valid JSON, but cannot be done. Nothing was changed.
 *
 */
export interface ValidationError {
  message: string
  documentation_url: string
  /** The HTTP status as a string. */
  status: string
  errors: {
    resource: 'Migration' | 'Repository' | 'Service' | 'Schedule' | 'Hook'
    /** The field of the request. */
    field?: string
    code: 'missing' | 'missing_field' | 'invalid' | 'already_exists' | 'unprocessable' | 'custom'
    /** The index of the element, if the field is a list. */
    index?: number
    /** The element, if the request did not send the list. */
    value?: string
    /** An explanation for people, if the code is not enough. */
    message?: string
  }[]
}
