import { randomUUID } from 'node:crypto'
import type { ForgeGit } from './forge-git.ts'

/** The data of the fake forge. The field names are our own; `render.ts` has Gitea's. */
export interface User {
  id: number
  login: string
  fullName: string
  isAdmin: boolean
  isOrganization: boolean
  /** The user is not allowed to sign in. */
  isSuspended?: boolean
  visibility: 'public' | 'limited' | 'private'
  created: number
}

export interface Asset {
  id: number
  uuid: string
  name: string
  bytes: Uint8Array
  created: number
  external?: string
}

export interface Reaction {
  user: User | null
  content: string
  created: number
}

/** A comment or an event. Gitea keeps both in one table with one sequence of ids. */
export interface Comment {
  id: number
  type: string
  user: User | null
  /** The author on another host, of a restored record. */
  originalAuthor?: string
  body: string
  created: number
  updated: number
  assets: Asset[]
  reactions: Reaction[]
  /** The subject of an event, by Gitea's field names. */
  about: Record<string, unknown>
  code?: { reviewId: number; path: string; line: number; hunk: string; resolver: User | null }
}

export interface Review {
  id: number
  user: User | null
  /** The team whose review was requested. */
  team?: Team
  state: string
  body: string
  commit: string
  dismissed: boolean
  submitted: number
  updated: number
  commentId: number
}

export interface Pull {
  id: number
  base: string
  head: { branch: string; sha: string; repository: string | null }
  mergeBase: string
  merged: { at: number; by: User; commit: string } | null
  reviews: Review[]
}

export interface Issue {
  id: number
  number: number
  user: User | null
  originalAuthor?: string
  title: string
  body: string
  labels: Label[]
  milestone: Milestone | null
  assignees: User[]
  isLocked: boolean
  due: number | null
  /** In seconds. */
  timeEstimate?: number
  /** 0 if it is not pinned. */
  pinOrder: number
  /** The issues that block this one. */
  dependencies: Issue[]
  created: number
  updated: number
  closed: number | null
  assets: Asset[]
  reactions: Reaction[]
  comments: Comment[]
  pull: Pull | null
}

export interface Label {
  id: number
  name: string
  color: string
  description: string
  exclusive?: boolean
}

export interface Milestone {
  id: number
  title: string
  description: string
  closed: number | null
  due: number | null
  created: number
}

export interface Release {
  id: number
  tag: string
  target: string
  name: string
  body: string
  draft: boolean
  prerelease: boolean
  author: User | null
  created: number
  assets: Asset[]
}

export interface Team {
  id: number
  name: string
  permission: string
  members: Set<User>
  /** Undefined if it has access to all repositories of its organization. */
  repositories?: Set<Repository>
  units: string[]
}

export interface Repository {
  id: number
  owner: User
  name: string
  isPrivate: boolean
  isArchived: boolean
  isTemplate: boolean
  /** The URL of the repository that this one mirrors. */
  mirrorOf: string | null
  forkOf: Repository | null
  website: string
  defaultBranch: string
  description: string
  topics: string[]
  labels: Label[]
  milestones: Milestone[]
  /** Issues and pull requests by number. */
  issues: Map<number, Issue>
  releases: Release[]
  protections: Record<string, unknown>[]
  collaborators: Map<User, string>
  branches: Map<string, string>
  /** The LFS objects that were uploaded to it. */
  lfs: Set<string>
  /** Disabled features: their data is kept, but not shown. */
  disabled: Set<'issues' | 'pulls' | 'releases'>
  nextNumber: number
}

export class ForgeData {
  readonly users = new Map<string, User>()
  readonly repositories = new Map<string, Repository>()
  /** The users by their former logins. */
  readonly redirects = new Map<string, User>()
  /** Repositories by their former names. */
  readonly renamed = new Map<string, Repository>()
  /** The repositories' directories; without them, branches have invented commits. */
  git: ForgeGit | undefined
  readonly teams = new Map<string, Team[]>()
  readonly organizationLabels = new Map<string, Label[]>()
  /** People who may read no repository, because the operator requires a second factor. */
  readonly withoutSecondFactor = new Set<User>()
  /** Unix time in seconds, also used for the `Date` header. */
  clock: () => number = () => Math.floor(Date.now() / 1000)
  #fast: number | undefined
  /** The issue of each comment, also after the comment was deleted. */
  readonly #issueOf = new Map<number, Issue>()
  #lastId = 100

  id = (): number => ++this.#lastId

  /** Advances the clock with every request, so that readers need not wait for the next second. */
  advanceClockPerRequest(from = this.clock()): void {
    this.#fast = from
    this.clock = () => this.#fast ?? 0
  }

  onRequest(): void {
    if (this.#fast !== undefined) this.#fast += SECONDS_PER_REQUEST
  }

  addUser(login: string, more: Partial<User> = {}): User {
    const plain = { fullName: '', isAdmin: false, isOrganization: false, created: 1_600_000_000 }
    const user: User = { id: this.id(), login, visibility: 'public', ...plain, ...more }
    this.users.set(login.toLowerCase(), user)
    this.redirects.delete(login.toLowerCase())
    if (user.isOrganization) this.teams.set(login.toLowerCase(), [])
    return user
  }

  /** Renames a user. The old login redirects to the new one until another user takes it, as on Gitea. */
  rename(user: User, login: string): void {
    const [before, after] = [user.login.toLowerCase(), login.toLowerCase()]
    user.login = login
    this.users.delete(before)
    this.users.set(after, user)
    this.redirects.set(before, user)
    const teams = this.teams.get(before)
    if (teams) this.teams.set(after, teams)
    this.teams.delete(before)
    for (const [key, repository] of [...this.repositories])
      if (repository.owner === user) {
        this.repositories.delete(key)
        this.repositories.set(`${after}/${repository.name.toLowerCase()}`, repository)
        this.git?.rename(key, `${after}/${repository.name}`)
      }
  }

  /** Deletes a user with all repositories and reactions; Gitea requires this order for organizations. Other texts stay. */
  delete(user: User): void {
    const login = user.login.toLowerCase()
    this.users.delete(login)
    this.teams.delete(login)
    for (const team of [...this.teams.values()].flat()) team.members.delete(user)
    for (const [key, { owner, issues, collaborators }] of [...this.repositories]) {
      if (owner === user) this.repositories.delete(key)
      collaborators.delete(user)
      for (const issue of issues.values()) {
        for (const each of [issue, ...issue.comments, ...(issue.pull?.reviews ?? [])])
          if (each.user === user) each.user = null
        for (const each of [issue, ...issue.comments])
          each.reactions = each.reactions.filter((reaction) => reaction.user !== user)
        issue.assignees = issue.assignees.filter((each) => each !== user)
      }
    }
  }

  addTeam(organization: User, name: string, permission: string, members: User[]): Team {
    const units = permission === 'owner' ? ALL_UNITS : ['repo.code', 'repo.issues']
    const team = { id: this.id(), name, permission, members: new Set(members), units }
    this.teams.get(organization.login.toLowerCase())?.push(team)
    return team
  }

  addRepository(owner: User, name: string): Repository {
    const repository: Repository = {
      id: this.id(),
      owner,
      name,
      isPrivate: false,
      isArchived: false,
      isTemplate: false,
      mirrorOf: null,
      forkOf: null,
      website: '',
      defaultBranch: 'main',
      description: `about ${name}`,
      topics: ['sample'],
      labels: [],
      milestones: [],
      issues: new Map(),
      releases: [],
      protections: [],
      collaborators: new Map(),
      branches: new Map([['main', sha(1)]]),
      lfs: new Set(),
      disabled: new Set(),
      nextNumber: 1,
    }
    this.repositories.set(`${owner.login}/${name}`.toLowerCase(), repository)
    this.renamed.delete(`${owner.login}/${name}`.toLowerCase())
    return repository
  }

  renameRepository(repository: Repository, name: string): void {
    const before = fullNameOf(repository)
    this.repositories.delete(before.toLowerCase())
    this.renamed.set(before.toLowerCase(), repository)
    repository.name = name
    this.repositories.set(fullNameOf(repository).toLowerCase(), repository)
    this.git?.rename(before, fullNameOf(repository))
  }

  deleteRepository(repository: Repository): void {
    this.repositories.delete(fullNameOf(repository).toLowerCase())
    this.git?.remove(fullNameOf(repository))
  }

  /** Reads the branches after a push, and updates the open pull requests from them. */
  readBranches(repository: Repository): void {
    if (!this.git) return
    const name = fullNameOf(repository)
    repository.branches = this.git.branches(name)
    for (const base of this.repositories.values())
      for (const { number, closed, pull } of base.issues.values()) {
        if (!pull || closed !== null) continue
        const tip = repository.branches.get(pull.head.branch)
        if (pull.head.repository !== name || !tip || tip === pull.head.sha) continue
        pull.head.sha = tip
        this.keepHead(base, number, pull)
      }
  }

  /** Stores the commits of a pull request in its own repository, as `refs/pull/N/head`. */
  keepHead(base: Repository, number: number, pull: Pull): void {
    if (!this.git || !pull.head.repository) return
    const name = fullNameOf(base)
    const ref = `refs/pull/${number}/head`
    this.git.fetch(name, pull.head.repository, pull.head.branch, ref)
    pull.mergeBase = this.git.mergeBase(name, `refs/heads/${pull.base}`, ref)
  }

  addIssue(repository: Repository, user: User | null, more: Partial<Issue> = {}): Issue {
    const now = this.clock()
    const number = repository.nextNumber++
    const issue: Issue = {
      id: this.id(),
      number,
      user,
      title: `issue ${number}`,
      body: `text of ${number}`,
      labels: [],
      milestone: null,
      assignees: [],
      isLocked: false,
      due: null,
      pinOrder: 0,
      dependencies: [],
      created: now,
      updated: now,
      closed: null,
      assets: [],
      reactions: [],
      comments: [],
      pull: null,
      ...more,
    }
    repository.issues.set(number, issue)
    return issue
  }

  addPull(
    repository: Repository,
    user: User | null,
    more: Partial<Pull> = {},
  ): Issue & { pull: Pull } {
    const issue = this.addIssue(repository, user)
    const pull: Pull = {
      id: this.id(),
      base: 'main',
      head: {
        branch: `work-${issue.number}`,
        sha: sha(issue.number),
        repository: `${repository.owner.login}/${repository.name}`,
      },
      mergeBase: repository.branches.get(more.base ?? 'main') ?? sha(1),
      merged: null,
      reviews: [],
      ...more,
    }
    issue.pull = pull
    issue.title = `pull ${issue.number}`
    return issue as Issue & { pull: Pull }
  }

  /** Adds a comment, or with `type` an event. Each changes the issue's time of update. */
  addComment(issue: Issue, user: User | null, body: string, more: Partial<Comment> = {}): Comment {
    const now = this.clock()
    const comment: Comment = {
      id: this.id(),
      type: 'comment',
      user,
      body,
      created: now,
      updated: now,
      assets: [],
      reactions: [],
      about: {},
      ...more,
    }
    issue.comments.push(comment)
    issue.updated = now
    this.#issueOf.set(comment.id, issue)
    return comment
  }

  findComment({ issues }: Repository, id: number) {
    const issue = this.#issueOf.get(id)
    const comment = issue?.comments.find((each) => each.id === id)
    return issue && comment && issues.get(issue.number) === issue ? { issue, comment } : undefined
  }

  addReview(issue: Issue & { pull: Pull }, user: User | null, state: string, body = ''): Review {
    const now = this.clock()
    const reviewId = this.id()
    const { id } = this.addComment(issue, user, body, {
      type: 'review',
      about: { review_id: reviewId },
    })
    const review = {
      id: reviewId,
      user,
      state,
      body,
      commit: issue.pull.head.sha,
      dismissed: false,
      submitted: now,
      updated: now,
      commentId: id,
    }
    issue.pull.reviews.push(review)
    return review
  }

  addLineComment(
    issue: Issue,
    review: Review,
    user: User | null,
    path: string,
    line: number,
  ): Comment {
    const hunk = `@@ -1,${line} +1,${line} @@\n${' same\n'.repeat(Math.max(0, line - 1))}+new`
    return this.addComment(issue, user, `about line ${line}`, {
      type: 'code',
      code: { reviewId: review.id, path, line, hunk, resolver: null },
    })
  }

  close(issue: Issue, user: User): void {
    issue.closed = this.clock()
    this.addComment(issue, user, '', { type: 'close' })
  }

  merge(issue: Issue & { pull: Pull }, user: User, commit = sha(issue.number + 5000)): void {
    issue.closed = this.clock()
    issue.pull.merged = { at: issue.closed, by: user, commit }
    this.addComment(issue, user, '', { type: 'merge_pull' })
  }

  addRelease(
    repository: Repository,
    author: User | null,
    tag: string,
    more: Partial<Release> = {},
  ): Release {
    const release = {
      id: this.id(),
      tag,
      target: 'main',
      name: `Release ${tag}`,
      body: 'notes',
      draft: false,
      prerelease: false,
      author,
      created: this.clock(),
      assets: [],
      ...more,
    }
    repository.releases.push(release)
    return release
  }

  createAsset(name: string, bytes: Uint8Array | string): Asset {
    const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
    return { id: this.id(), uuid: randomUUID(), name, bytes: content, created: this.clock() }
  }

  findRepository = (owner: string, name: string) =>
    this.repositories.get(`${owner}/${name}`.toLowerCase())

  /** Files that were uploaded on a web page and are not attached to a text yet. */
  readonly uploads = new Map<string, Asset>()

  findAsset(uuid: string): Asset | undefined {
    for (const { issues, releases } of this.repositories.values()) {
      const holders = [
        ...[...issues.values()].flatMap((issue) => [issue, ...issue.comments]),
        ...releases,
      ]
      for (const { assets } of holders) {
        const found = assets.find((each) => each.uuid === uuid)
        if (found) return found
      }
    }
    return undefined
  }
}

const SECONDS_PER_REQUEST = 3

const ALL_UNITS = [
  'code',
  'issues',
  'pulls',
  'releases',
  'wiki',
  'ext_wiki',
  'ext_issues',
  'projects',
].map((unit) => `repo.${unit}`)

export const fullNameOf = ({ owner, name }: Repository): string => `${owner.login}/${name}`

export const sha = (n: number): string => n.toString(16).padStart(40, '0')
