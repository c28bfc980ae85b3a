/** The records of the wire. Written by scripts/wire-types.ts from the schemas of /openapi.json: change those. */

export interface StartRequest {
  /**
   * `owner/name`, or the bare name of one of the caller's own.
   *
   * @maxItems 10000
   */
  repositories: string[]
  /**
   * `repositories` leaves them out of the answer. Other values are ignored.
   *
   * @maxItems 10000
   */
  exclude?: string[]
  /** Refuse pushes until unlocked, failed, or the time of the lock is over. */
  lock_repositories?: boolean
  /** Leave out what is known of the repositories beside git. */
  exclude_metadata?: boolean
  /** Leave out the git repositories themselves, and their wikis. */
  exclude_git_data?: boolean
  /** Leave out attachments; a git host keeps none. */
  exclude_attachments?: boolean
  /** Leave out releases; a git host keeps none. */
  exclude_releases?: boolean
  /** Leave out projects of the owner; a git host keeps none. */
  exclude_owner_projects?: boolean
  /** Carry what is known of the organizations that the caller administers, and no repository; `repositories` is then ignored. */
  org_metadata_only?: boolean
  /** Skip repositories that cannot be exported, rather than fail. An extension of this server. */
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
  /** `pending`, then `exporting`, then `exported` or `failed`; from `pending` straight to `failed` as well. There is no way back. */
  state: 'pending' | 'exporting' | 'exported' | 'failed'
  /** As asked for at the start. */
  lock_repositories: boolean
  /** As asked for at the start. */
  exclude_metadata: boolean
  /** As asked for at the start. */
  exclude_git_data: boolean
  /** As asked for at the start. */
  exclude_attachments: boolean
  /** As asked for at the start. */
  exclude_releases: boolean
  /** As asked for at the start. */
  exclude_owner_projects: boolean
  /** As asked for at the start. */
  org_metadata_only: boolean
  /** In the order they were asked for; empty where the caller left them out. */
  repositories: ExtendedRepository[]
  url: string
  /** With the numeric offset of the server's time zone. */
  created_at: string
  /** With the numeric offset of the server's time zone. */
  updated_at: string
  /** There while there is an archive to download. */
  archive_url?: string
}
/**
 * A person or an organization.
 *
 */
export interface User {
  /** Shown as the host writes it, compared without regard to case. */
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
 * A repository with everything that is said of it.
 *
 */
export interface ExtendedRepository {
  id: number
  /** Opaque. */
  node_id: string
  name: string
  /** Login of the owner and name, joined by a slash. */
  full_name: string
  owner: User
  private: boolean
  fork: boolean
  is_template: boolean
  archived: boolean
  disabled: boolean
  /** Empty where there is none. */
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
  /** For `git clone`; may be of the form `user@host:path`. */
  ssh_url: string
  stargazers_url: string
  statuses_url: string
  subscribers_url: string
  subscription_url: string
  tags_url: string
  teams_url: string
  trees_url: string
  clone_url: string
  /** Where a mirror comes from, else where this one can be mirrored from. */
  mirror_url: string
  hooks_url: string
  svn_url: string
  homepage: string | null
  /** The one with the most bytes. */
  language: string | null
  forks_count: number
  /** Always 0: a git host keeps no such thing. */
  stargazers_count: number
  /** Always 0: a git host keeps no such thing. */
  watchers_count: number
  /** Always 0: a git host keeps no such thing. */
  open_issues_count: number
  /** In KiB on disk. */
  size: number
  default_branch: string
  topics: string[]
  has_issues: boolean
  has_projects: boolean
  has_wiki: boolean
  has_pages: boolean
  has_downloads: boolean
  visibility: 'private' | 'public'
  /** The newest commit that any ref leads to. In UTC. */
  pushed_at: string
  /** In UTC. */
  created_at: string
  /** In UTC. */
  updated_at: string
  /** What the caller may do there. */
  permissions: {
    admin: boolean
    push: boolean
    pull: boolean
  }
  /** What it was made from; null where there is none or the caller may not read it. */
  template_repository: ExtendedRepository | null
  allow_rebase_merge: boolean
  allow_squash_merge: boolean
  allow_merge_commit: boolean
  delete_branch_on_merge: boolean
  /** Always empty: no such credential exists. */
  temp_clone_token: string
  /** Always 0: a git host keeps no such thing. */
  subscribers_count: number
  /** Always 0: a git host keeps no such thing. */
  open_issues: number
  /** Always 0: a git host keeps no such thing. */
  watchers: number
  network_count: number
  forks: number
  license: License | null
}
/**
 * A licence, recognised by its text or stated by the operator.
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
 * A repository as it was when the migration started.
 *
 */
export interface Repository {
  id: number
  /** Opaque. */
  node_id: string
  name: string
  /** Login of the owner and name, joined by a slash. */
  full_name: string
  owner: User
  private: boolean
  fork: boolean
  is_template: boolean
  archived: boolean
  disabled: boolean
  /** Empty where there is none. */
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
  /** For `git clone`; may be of the form `user@host:path`. */
  ssh_url: string
  stargazers_url: string
  statuses_url: string
  subscribers_url: string
  subscription_url: string
  tags_url: string
  teams_url: string
  trees_url: string
  clone_url: string
  /** Where a mirror comes from, else where this one can be mirrored from. */
  mirror_url: string
  hooks_url: string
  svn_url: string
  homepage: string | null
  /** The one with the most bytes. */
  language: string | null
  forks_count: number
  /** Always 0: a git host keeps no such thing. */
  stargazers_count: number
  /** Always 0: a git host keeps no such thing. */
  watchers_count: number
  /** Always 0: a git host keeps no such thing. */
  open_issues_count: number
  /** In KiB on disk. */
  size: number
  default_branch: string
  topics: string[]
  has_issues: boolean
  has_projects: boolean
  has_wiki: boolean
  has_pages: boolean
  has_downloads: boolean
  visibility: 'private' | 'public'
  /** The newest commit that any ref leads to. In UTC. */
  pushed_at: string
  /** In UTC. */
  created_at: string
  /** In UTC. */
  updated_at: string
  /** What the caller may do there. */
  permissions: {
    admin: boolean
    push: boolean
    pull: boolean
  }
  /** What it was made from; null where there is none or the caller may not read it. */
  template_repository: ExtendedRepository | null
}
/**
 * How far a migration has come.
 *
 */
export interface Progress {
  state: 'pending' | 'exporting' | 'exported' | 'failed'
  /** Why it failed. */
  reason: string | null
  started_at: string | null
  ended_at: string | null
  totals: {
    repositories: number
    exported: number
    reused: number
    skipped: number
    remaining: number
    bytes_done: number
    /** Null until every repository was looked at. */
    bytes_expected: number | null
    /** Over the whole export; reused ones cost nothing. */
    bytes_per_second: number | null
    /** Null while there is nothing to reckon from. */
    seconds_left: number | null
  }
  repositories: RepositoryProgress[]
}
/**
 * How far one repository of a migration has come.
 *
 */
export interface RepositoryProgress {
  full_name: string
  state: 'waiting' | 'exporting' | 'exported' | 'skipped'
  bytes_done: number
  /** Null until it was looked at. */
  bytes_expected: number | null
  /** Exported before and unchanged since. */
  reused: boolean
  /** Why it was skipped. */
  reason: string | null
  /** What is to be known of it though it was exported, such as LFS objects that are missing. */
  warning: string | null
  started_at: string | null
  finished_at: string | null
}
/**
 * What became of a migration.
 *
 */
export interface Report {
  id: number
  guid: string
  login: string
  /** Null before it has begun. */
  seconds: number | null
  state: 'pending' | 'exporting' | 'exported' | 'failed'
  /** Why it failed. */
  reason: string | null
  started_at: string | null
  ended_at: string | null
  totals: {
    repositories: number
    exported: number
    reused: number
    skipped: number
    remaining: number
    bytes_done: number
    /** Null until every repository was looked at. */
    bytes_expected: number | null
    /** Over the whole export; reused ones cost nothing. */
    bytes_per_second: number | null
    /** Null while there is nothing to reckon from. */
    seconds_left: number | null
  }
  repositories: RepositoryProgress[]
}
/**
 * What a migration would carry and cost.
 *
 */
export interface Forecast {
  repositories: {
    full_name: string
    bytes: number
    lfs_bytes: number
    /** Exported before and unchanged since: costs a look-up. */
    reused: boolean
    /** Why it would be skipped. */
    reason: string | null
    /** What is to be known of it though it can be exported. */
    warning: string | null
  }[]
  bytes_to_write: number
  /** Where exporters keep archives; null where they have not told, or use a bucket. */
  free_bytes: number | null
  /** Null where no export has shown how fast it goes. */
  estimated_seconds: number | null
}
/**
 * A migration and what has become of it, without its repositories.
 *
 */
export interface Summary {
  id: number
  guid: string
  state: 'pending' | 'exporting' | 'exported' | 'failed'
  /** Why it failed: `cancelled`, or a line for each repository that was not exported. */
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
    remaining: number
    /** With those that were reused. */
    exported: number
    /** Exported before and unchanged since. */
    reused: number
  }
  /** Of the repositories that were exported. */
  bytes_done: number
  /** Null while, or where, there is none to download. */
  archive: {
    bytes: number
    expires_at: string
  } | null
  /** How many repositories it keeps locked. */
  held_locks: number
}
/**
 * A repository that refuses pushes.
 *
 */
export interface Lock {
  full_name: string
  locked_at: string
  /** When it opens by itself. */
  expires_at: string
}
/**
 * Where to download an archive.
 *
 */
export interface ArchiveLink {
  /** A credential: whoever has it may download. */
  url: string
  /** Of the file. */
  name: string
  bytes: number
  /** Of the link. */
  expires_at: string
}
/**
 * Who the token belongs to.
 *
 */
export interface CurrentUser {
  /** Shown as the host writes it, compared without regard to case. */
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
  /** How many repositories of theirs anyone may read. */
  public_repos: number
  /** Always 0: a git host keeps no such thing. */
  public_gists: number
  /** Always 0: a git host keeps no such thing. */
  followers: number
  /** Always 0: a git host keeps no such thing. */
  following: number
  /** When the account was first seen here. */
  created_at: string
  updated_at: string
}
/**
 * What the caller has left of this hour.
 *
 */
export interface RateLimit {
  resources: {
    core: {
      /** Requests in an hour; 0 where there is no limit. */
      limit: number
      remaining: number
      used: number
      /** When it starts anew, in seconds since 1970. */
      reset: number
      resource: 'core' | 'search'
    }
    search: {
      /** Requests in an hour; 0 where there is no limit. */
      limit: number
      remaining: number
      used: number
      /** When it starts anew, in seconds since 1970. */
      reset: number
      resource: 'core' | 'search'
    }
  }
  rate: {
    /** Requests in an hour; 0 where there is no limit. */
    limit: number
    remaining: number
    used: number
    /** When it starts anew, in seconds since 1970. */
    reset: number
    resource: 'core' | 'search'
  }
}
/**
 * Where everything is. Much of it leads nowhere on a git host.
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
  /** What asks for the preview, as `accept`. An extension of this server. */
  media_type: string
}
/**
 * The whole service at one moment.
 *
 */
export interface ServiceState {
  observed_at: string
  /** Of the process that answers. */
  version: string
  /** How many are, or have ended, in each state. */
  migrations: {
    pending: number
    exporting: number
    exported: number
    failed: number
  }
  /** The oldest of those that have not ended. */
  running: {
    id: number
    guid: string
    login: string
    state: 'pending' | 'exporting' | 'exported' | 'failed'
    created_at: string
    started_at: string | null
    repositories: {
      total: number
      skipped: number
      remaining: number
      /** With those that were reused. */
      exported: number
      /** Exported before and unchanged since. */
      reused: number
    }
    bytes_done: number
  }[]
  queue: {
    jobs: number
    /** Null where nothing waits. */
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
    /** The oldest first; the last is still filling. */
    buckets: {
      start: string
      /** Carried, with those that were reused. */
      repositories: number
      reused: number
      skipped: number
      migrations_exported: number
      migrations_failed: number
      /** Written anew. */
      bytes: number
      bytes_reused: number
    }[]
  }
  storage: {
    segments: number
    segment_bytes: number
    archives: number
    /** Most of them are those of segments. */
    archive_bytes: number
    /** Null where a bucket is used, or no exporter has told. */
    free_bytes: number | null
  }
  locks: {
    held: number
    newest: {
      full_name: string
      locked_at: string
      /** When it opens by itself. */
      expires_at: string
      migration_id: number
      /** Whose migration it is. */
      login: string
    }[]
  }
  /** The newest. */
  failures: {
    id: number
    guid: string
    login: string
    ended_at: string | null
    reason: string | null
    /** The first of those that could not be exported. */
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
    /** How many jobs it runs at once. */
    concurrency: number
    running_jobs: number
    started_at: string
    /** Its last sign of life; every ten seconds there is one. */
    seen_at: string
    alive: boolean
  }[]
}
/**
 * Why a request was refused.
 *
 */
export interface Error {
  message: string
  documentation_url: string
  /** The status again, as text. */
  status: string
}
/**
 * Why a request that was understood cannot be done. Nothing was changed.
 *
 */
export interface ValidationError {
  message: string
  documentation_url: string
  /** The status again, as text. */
  status: string
  errors: {
    resource: 'Migration' | 'Repository' | 'Service'
    /** Which field of the request. */
    field?: string
    code: 'missing' | 'missing_field' | 'invalid' | 'already_exists' | 'unprocessable' | 'custom'
    /** Which element, where the field is a list. */
    index?: number
    /** For people, where the code does not say it all. */
    message?: string
  }[]
}
