import type * as World from './forge-data.ts'

/** The differences of the JSON between versions. */
export interface Dialect {
  version: string
  /** Issues and comments have `assets`. */
  hasAssets: boolean
  /** Comments and reviews have `X-Total-Count`. */
  countsComments: boolean
  /** Pull requests have `draft` and `requested_reviewers`, and reviews `updated_at`. */
  isNew: boolean
}

export const GITEA_1_15: Dialect = {
  version: '1.15.11',
  hasAssets: false,
  countsComments: false,
  isNew: false,
}

export const GITEA_1_22: Dialect = {
  version: '1.22.3',
  hasAssets: true,
  countsComments: true,
  isNew: true,
}

export const GITEA_1_27: Dialect = { ...GITEA_1_22, version: '1.27.2' }

export const FORGEJO_15: Dialect = { ...GITEA_1_22, version: '15.0.0+gitea-1.22.0' }

export const FORGEJO_11: Dialect = { ...GITEA_1_22, version: '11.0.1+gitea-1.22.0' }

const time = (seconds: number | null): string | null =>
  seconds === null ? null : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

/** Renders JSON like Gitea; `base` is the address of the server. */
export class Renderer {
  readonly #base: string
  readonly #dialect: Dialect
  readonly #repositories: Map<string, World.Repository>

  constructor(base: string, dialect: Dialect, repositories: Map<string, World.Repository>) {
    this.#base = base
    this.#dialect = dialect
    this.#repositories = repositories
  }

  user(user: World.User | null) {
    const { id, login, fullName, isAdmin, created, visibility } = user ?? {
      id: -1,
      login: 'Ghost',
      fullName: '',
      isAdmin: false,
      visibility: 'public',
      created: 0,
    }
    return {
      id,
      login,
      full_name: fullName,
      email: `${login}@secret.example`,
      avatar_url: `${this.#base}/avatars/${id}`,
      language: '',
      is_admin: isAdmin,
      prohibit_login: user?.isSuspended ?? false,
      created: time(created),
      location: '',
      website: '',
      description: '',
      visibility,
      username: login,
    }
  }

  organization = (user: World.User) => ({
    id: user.id,
    ...(this.#dialect.isNew && { name: user.login }),
    username: user.login,
    full_name: user.fullName,
    email: 'org@secret.example',
    avatar_url: `${this.#base}/avatars/${user.id}`,
    description: '',
    website: '',
    location: '',
    visibility: user.visibility,
    repo_admin_change_team_access: true,
  })

  team = (team: World.Team) => ({
    id: team.id,
    name: team.name,
    description: '',
    organization: null,
    permission: team.permission,
    includes_all_repositories: team.repositories === undefined,
    can_create_org_repo: team.permission === 'owner',
    units: team.units,
    ...(this.#dialect.isNew && {
      units_map: Object.fromEntries(team.units.map((unit) => [unit, team.permission])),
    }),
  })

  repository(repository: World.Repository): Record<string, unknown> & { full_name: string } {
    const { id, owner, name, isPrivate, isArchived, description, topics, disabled } = repository
    const { mirrorOf, forkOf } = repository
    const full = `${owner.login}/${name}`
    return {
      id,
      owner: this.user(owner),
      name,
      full_name: full,
      description,
      empty: repository.branches.size === 0,
      private: isPrivate,
      fork: forkOf !== null,
      template: repository.isTemplate,
      ...((forkOf || !this.#dialect.isNew) && { parent: forkOf && this.repository(forkOf) }),
      mirror: mirrorOf !== null,
      html_url: `${this.#base}/${full}`,
      clone_url: `${this.#base}/${full}.git`,
      original_url: mirrorOf ?? '',
      website: repository.website,
      default_branch: repository.defaultBranch,
      archived: isArchived,
      created_at: time(1_600_000_000),
      updated_at: time(1_600_000_001),
      has_issues: !disabled.has('issues'),
      has_pull_requests: !disabled.has('pulls'),
      ...(this.#dialect.isNew && { has_releases: !disabled.has('releases') }),
      has_wiki: true,
      internal: false,
      ...(this.#dialect.isNew && { topics }),
      permissions: { admin: true, push: true, pull: true },
    }
  }

  label = ({ id, name, color, description, exclusive = false }: World.Label) => ({
    id,
    name,
    color,
    description,
    ...(this.#dialect.isNew && { exclusive }),
    url: `${this.#base}/api/v1/labels/${id}`,
  })

  milestone = (milestone: World.Milestone) => ({
    id: milestone.id,
    title: milestone.title,
    description: milestone.description,
    state: milestone.closed === null ? 'open' : 'closed',
    open_issues: 0,
    closed_issues: 0,
    created_at: time(milestone.created),
    updated_at: time(milestone.created),
    closed_at: time(milestone.closed),
    due_on: time(milestone.due),
  })

  asset = (asset: World.Asset) => ({
    id: asset.id,
    name: asset.name,
    size: asset.bytes.length,
    download_count: 0,
    created_at: time(asset.created),
    uuid: asset.uuid,
    browser_download_url: asset.external ?? `${this.#base}/attachments/${asset.uuid}`,
    ...(asset.external ? { type: 'external' } : {}),
  })

  #assets = (assets: World.Asset[]) =>
    this.#dialect.hasAssets ? { assets: assets.map(this.asset) } : {}

  issue(repository: World.Repository, issue: World.Issue) {
    const kind = issue.pull ? 'pulls' : 'issues'
    return {
      ...this.#common(issue),
      id: issue.id,
      html_url: `${this.#address(repository)}/${kind}/${issue.number}`,
      original_author: issue.originalAuthor ?? '',
      original_author_id: 0,
      ref: '',
      repository: {
        id: repository.id,
        name: repository.name,
        owner: repository.owner.login,
        full_name: `${repository.owner.login}/${repository.name}`,
      },
      ...this.#assets(issue.assets),
      created_at: time(issue.created),
      closed_at: time(issue.closed),
      ...(this.#dialect.isNew && {
        pin_order: issue.pinOrder,
        time_estimate: issue.timeEstimate ?? 0,
      }),
      pull_request: issue.pull
        ? { merged: issue.pull.merged !== null, merged_at: time(issue.pull.merged?.at ?? null) }
        : null,
    }
  }

  #address = ({ owner, name }: World.Repository) => `${this.#base}/${owner.login}/${name}`

  /** The types of entries that Gitea counts as comments. */
  get #counted() {
    return this.#dialect.isNew ? ['comment', 'review'] : ['comment']
  }

  #common(issue: World.Issue) {
    return {
      number: issue.number,
      user: this.user(issue.user),
      title: issue.title,
      body: issue.body,
      labels: issue.labels.map(this.label),
      milestone: issue.milestone && this.milestone(issue.milestone),
      assignee: issue.assignees[0] ? this.user(issue.assignees[0]) : null,
      assignees: issue.assignees.length > 0 ? issue.assignees.map((each) => this.user(each)) : null,
      state: issue.closed === null ? 'open' : 'closed',
      is_locked: issue.isLocked,
      comments: issue.comments.filter(({ type }) => this.#counted.includes(type)).length,
      updated_at: time(issue.updated),
      due_date: time(issue.due),
    }
  }

  /** Gitea 1.15 has no `rule_name`. */
  protection = ({ rule_name: name, ...rest }: Record<string, unknown>) =>
    this.#dialect.isNew ? { rule_name: name, ...rest } : rest

  pull(repository: World.Repository, issue: World.Issue & { pull: World.Pull }) {
    const { pull } = issue
    const isHere = pull.head.repository !== null
    const head = this.#repositories.get((pull.head.repository ?? '').toLowerCase()) ?? repository
    return {
      ...this.#common(issue),
      id: pull.id,
      url: `${this.#address(repository)}/pulls/${issue.number}`,
      html_url: `${this.#address(repository)}/pulls/${issue.number}`,
      mergeable: true,
      merged: pull.merged !== null,
      merged_at: time(pull.merged?.at ?? null),
      merge_commit_sha: pull.merged?.commit ?? null,
      merged_by: pull.merged ? this.user(pull.merged.by) : null,
      base: {
        label: pull.base,
        ref: pull.base,
        sha: repository.branches.get(pull.base) ?? '',
        repo_id: repository.id,
        repo: this.repository(repository),
      },
      head: {
        label: pull.head.branch,
        ref: isHere ? pull.head.branch : `refs/pull/${issue.number}/head`,
        sha: pull.head.sha,
        repo_id: isHere ? head.id : -1,
        repo: isHere ? { ...this.repository(head), full_name: pull.head.repository } : null,
      },
      merge_base: pull.mergeBase,
      // Gitea 1.15 shows it only for the issue of a pull request.
      closed_at: this.#dialect.isNew ? time(issue.closed) : null,
      created_at: time(issue.created),
      ...(this.#dialect.isNew
        ? {
            draft: /^wip:/i.test(issue.title),
            requested_reviewers: pull.reviews
              .filter(({ state }) => state === 'REQUEST_REVIEW')
              .map(({ user }) => this.user(user)),
            requested_reviewers_teams: null,
          }
        : {}),
    }
  }

  comment(repository: World.Repository, issue: World.Issue, comment: World.Comment) {
    const address = `${this.#address(repository)}/${issue.pull ? 'pulls' : 'issues'}/${issue.number}`
    return {
      id: comment.id,
      html_url: `${address}#issuecomment-${comment.id}`,
      pull_request_url: issue.pull ? address : '',
      issue_url: issue.pull ? '' : address,
      user: this.user(comment.user),
      original_author: comment.originalAuthor ?? '',
      original_author_id: 0,
      body: comment.body,
      ...this.#assets(comment.assets),
      created_at: time(comment.created),
      updated_at: time(comment.updated),
    }
  }

  timelineEntry(repository: World.Repository, issue: World.Issue, comment: World.Comment) {
    const { assets: _, ...plain } = this.comment(repository, issue, comment) as { assets?: unknown }
    return {
      ...plain,
      type: comment.type,
      old_milestone: null,
      milestone: null,
      old_title: '',
      new_title: '',
      old_ref: '',
      new_ref: '',
      ref_issue: null,
      ref_comment: null,
      ref_action: '',
      ref_commit_sha: '',
      review_id: 0,
      label: null,
      assignee: null,
      assignee_team: null,
      removed_assignee: false,
      resolve_doer: null,
      dependent_issue: null,
      ...comment.about,
    }
  }

  review(repository: World.Repository, issue: World.Issue, review: World.Review) {
    const address = `${this.#address(repository)}/pulls/${issue.number}`
    const isRequest = review.state === 'REQUEST_REVIEW'
    return {
      id: review.id,
      user: review.team ? null : this.user(review.user),
      team: review.team ? { ...this.team(review.team), units: null } : null,
      state: review.state,
      body: review.body,
      commit_id: isRequest ? '' : review.commit,
      stale: false,
      official: false,
      dismissed: review.dismissed,
      comments_count: issue.comments.filter(({ code }) => code?.reviewId === review.id).length,
      submitted_at: time(review.submitted),
      ...(this.#dialect.isNew ? { updated_at: time(review.updated) } : {}),
      html_url: isRequest ? '' : `${address}#issuecomment-${review.commentId}`,
      pull_request_url: address,
    }
  }

  code(comment: World.Comment, review: World.Review) {
    const { code } = comment
    return {
      id: comment.id,
      body: comment.body,
      user: this.user(comment.user),
      resolver: code?.resolver ? this.user(code.resolver) : null,
      pull_request_review_id: review.id,
      created_at: time(comment.created),
      updated_at: time(comment.updated),
      path: code?.path,
      commit_id: review.commit,
      original_commit_id: '',
      diff_hunk: code?.hunk,
      position: Math.max(0, code?.line ?? 0),
      original_position: Math.max(0, -(code?.line ?? 0)),
    }
  }

  reaction = ({ user, content, created }: World.Reaction) => ({
    user: this.user(user),
    content,
    created_at: time(created),
  })

  release = (repository: World.Repository, release: World.Release) => ({
    html_url: `${this.#address(repository)}/releases/tag/${release.tag}`,
    id: release.id,
    tag_name: release.tag,
    target_commitish: release.target,
    name: release.name,
    body: release.body,
    draft: release.draft,
    prerelease: release.prerelease,
    created_at: time(release.created),
    published_at: time(release.created),
    author: this.user(release.author),
    assets: release.assets.map(this.asset),
  })
}
