import {
  type Asset,
  fullNameOf,
  type Issue,
  type Pull,
  type Repository,
  sha,
  type Team,
  type User,
} from './forge-data.ts'
import type { MergeStyle } from './forge-git.ts'
import type { ForgeResponse, RouteContext } from './responses.ts'

export interface WriteContext extends RouteContext {
  body: Record<string, unknown>
  /** The fields of a form that was sent instead of JSON. */
  form: FormData
}

type Answer = ForgeResponse | undefined | Promise<ForgeResponse>
type Route = (context: WriteContext, ...names: string[]) => Answer

const created = (body: unknown): ForgeResponse => ({ status: 201, body })
const done: ForgeResponse = { status: 204 }
const text = (value: unknown) => (typeof value === 'string' ? value : '')
const seconds = (value: unknown) => Math.floor(Date.parse(text(value)) / 1000)
const invalid = (message: string, status = 422): ForgeResponse => ({
  status,
  body: { message, url: 'http://127.0.0.1/api/swagger' },
})
const unknownUser = (login: string, status = 422) =>
  invalid(`user does not exist [uid: 0, name: ${login}, keyid: 0]`, status)

const inRepository =
  (route: (context: WriteContext, repository: Repository, ...names: string[]) => Answer): Route =>
  (context, owner = '', name = '', ...names) => {
    const found = context.world.findRepository(owner, name)
    return found && route(context, found, ...names)
  }

const onIssue = (
  route: (
    context: WriteContext,
    repository: Repository,
    issue: Issue,
    ...names: string[]
  ) => Answer,
): Route =>
  inRepository((context, repository, number, ...names) => {
    const issue = repository.issues.get(Number(number))
    return issue && route(context, repository, issue, ...names)
  })

const onPull = (
  route: (
    context: WriteContext,
    repository: Repository,
    issue: Issue & { pull: Pull },
    ...names: string[]
  ) => Answer,
) =>
  onIssue((context, repository, issue, ...names) =>
    issue.pull ? route(context, repository, issue as Issue & { pull: Pull }, ...names) : undefined,
  )

const visibilityIn = ({ visibility }: Record<string, unknown>) =>
  visibility ? { visibility: visibility as User['visibility'] } : {}

const REPO = '^/repos/([^/]+)/([^/]+)'
const at = (rest: string) => new RegExp(`${REPO}${rest}$`)

/** The POST, PUT, PATCH and DELETE routes of Gitea's API that the contract needs to write its data. */
export const WRITE_ROUTES: readonly [string, RegExp, Route][] = [
  [
    'POST',
    /^\/admin\/users$/,
    ({ world, render, body }) =>
      created(
        render.user(
          world.addUser(text(body.username), {
            fullName: text(body.full_name),
            ...visibilityIn(body),
          }),
        ),
      ),
  ],
  [
    'DELETE',
    /^\/admin\/users\/([^/]+)$/,
    ({ world }, login = '') => {
      const user = world.users.get(login.toLowerCase())
      if (user) world.delete(user)
      return done
    },
  ],
  [
    'POST',
    /^\/admin\/users\/([^/]+)\/orgs$/,
    ({ world, render, body }, login = '') => {
      const owner = world.users.get(login.toLowerCase())
      const more = { isOrganization: true, ...visibilityIn(body) }
      const user = world.addUser(text(body.username), more)
      if (owner) world.addTeam(user, 'Owners', 'owner', [owner])
      return created(render.organization(user))
    },
  ],
  [
    'DELETE',
    /^\/orgs\/([^/]+)$/,
    ({ world }, login = '') => {
      world.users.delete(login.toLowerCase())
      world.teams.delete(login.toLowerCase())
      return done
    },
  ],
  [
    'POST',
    /^\/orgs\/([^/]+)\/teams$/,
    ({ world, render, body }, login = '') => {
      const user = world.users.get(login.toLowerCase())
      if (!user) return undefined
      const team: Team = world.addTeam(user, text(body.name), text(body.permission), [])
      if (body.units) team.units = body.units as string[]
      if (!body.includes_all_repositories) team.repositories = new Set()
      return created(render.team(team))
    },
  ],
  [
    'PUT',
    /^\/teams\/(\d+)\/members\/([^/]+)$/,
    ({ world }, id, login = '') => {
      const team = [...world.teams.values()].flat().find((each) => each.id === Number(id))
      const user = world.users.get(login.toLowerCase())
      if (!team || !user) return undefined
      team.members.add(user)
      return done
    },
  ],
  [
    'DELETE',
    /^\/teams\/(\d+)\/members\/([^/]+)$/,
    ({ world }, id, login = '') => {
      const team = [...world.teams.values()].flat().find((each) => each.id === Number(id))
      const user = world.users.get(login.toLowerCase())
      return team && user && team.members.delete(user) ? done : undefined
    },
  ],
  [
    'POST',
    /^\/orgs\/([^/]+)\/labels$/,
    ({ world, render, body }, login = '') => {
      const label = labelOf(world.id(), body)
      const labels = world.organizationLabels.get(login.toLowerCase()) ?? []
      world.organizationLabels.set(login.toLowerCase(), [...labels, label])
      return created(render.label(label))
    },
  ],
  [
    'POST',
    /^\/admin\/users\/([^/]+)\/rename$/,
    ({ world, body }, login = '') => {
      const user = world.users.get(login.toLowerCase())
      if (user) world.rename(user, text(body.new_username))
      return user && done
    },
  ],
  ['POST', /^\/orgs\/([^/]+)\/repos$/, createRepository],
  ['POST', /^\/admin\/users\/([^/]+)\/repos$/, createRepository],
  ['POST', /^\/repos\/migrate$/, createMirror],
  [
    'DELETE',
    at(''),
    inRepository(({ world }, repository) => {
      world.deleteRepository(repository)
      return done
    }),
  ],
  ['PATCH', at(''), inRepository(editRepository)],
  [
    'POST',
    at('/forks'),
    inRepository(({ world, render, body, viewer }, repository) => {
      const owner = world.users.get(text(body.organization).toLowerCase()) ?? viewer
      if (world.findRepository(owner.login, repository.name))
        return invalid('The repository with the same name already exists.', 409)
      const fork = world.addRepository(owner, text(body.name) || repository.name)
      const { description, defaultBranch, isPrivate, branches } = repository
      Object.assign(fork, { forkOf: repository, description, defaultBranch, isPrivate, topics: [] })
      fork.branches = new Map(branches)
      world.git?.clone(world.git.path(fullNameOf(repository)), fullNameOf(fork))
      return { status: 202, body: render.repository(fork) }
    }),
  ],
  [
    'PUT',
    at('/topics'),
    inRepository(({ body }, repository) => {
      repository.topics = (body.topics as string[]) ?? []
      return done
    }),
  ],
  [
    'PUT',
    at('/topics/([^/]+)'),
    inRepository((_, repository, topic = '') => {
      repository.topics = [...new Set([...repository.topics, topic])]
      return done
    }),
  ],
  [
    'POST',
    at('/contents/(.+)'),
    inRepository(({ world, body, viewer }, repository, path = '') => {
      const branch = text(body.branch) || repository.defaultBranch
      const newBranch = text(body.new_branch) || branch
      if (!world.git) repository.branches.set(newBranch, sha(world.id()))
      else {
        const file = { path, bytes: Buffer.from(text(body.content), 'base64') }
        const by = { login: viewer.login, at: world.clock() }
        const message = text(body.message) || `Add '${path}'`
        world.git.addFile(fullNameOf(repository), file, { branch, newBranch, message, by })
        world.readBranches(repository)
      }
      return created({ commit: { sha: repository.branches.get(newBranch) } })
    }),
  ],
  [
    'DELETE',
    at('/branches/(.+)'),
    inRepository(({ world }, repository, branch = '') => {
      if (!repository.branches.delete(branch)) return undefined
      world.git?.setRef(fullNameOf(repository), `refs/heads/${branch}`, null)
      return done
    }),
  ],
  [
    'POST',
    at('/wiki/new'),
    inRepository(({ world, body, viewer }, repository) => {
      const by = { login: viewer.login, at: world.clock() }
      const bytes = Buffer.from(text(body.content_base64), 'base64')
      addWikiPage(world, repository, { title: text(body.title), bytes, by })
      return created({ title: body.title })
    }),
  ],
  [
    'POST',
    at('/labels'),
    inRepository(({ world, render, body }, { labels }) => {
      labels.push(labelOf(world.id(), body))
      return created(render.label(labels.at(-1)!))
    }),
  ],
  [
    'POST',
    at('/milestones'),
    inRepository(({ world, render, body }, { milestones }) => {
      const due = body.due_on ? seconds(body.due_on) : null
      const plain = { closed: null, due, created: world.clock() }
      milestones.push({
        id: world.id(),
        title: text(body.title),
        description: text(body.description),
        ...plain,
      })
      return created(render.milestone(milestones.at(-1)!))
    }),
  ],
  [
    'PATCH',
    at('/milestones/(\\d+)'),
    inRepository(({ world, render, body }, { milestones }, id) => {
      const milestone = milestones.find((each) => each.id === Number(id))
      if (!milestone) return undefined
      if (body.title) milestone.title = text(body.title)
      if (typeof body.description === 'string') milestone.description = body.description
      if (body.due_on) milestone.due = seconds(body.due_on)
      if (body.state) milestone.closed = body.state === 'closed' ? world.clock() : null
      return { body: render.milestone(milestone) }
    }),
  ],
  ['POST', at('/branch_protections'), inRepository(protectBranch)],
  [
    'PATCH',
    at('/branch_protections/([^/]+)'),
    inRepository(({ world, render, body }, { protections }, name) => {
      const found = protections.find((each) => each.branch_name === name)
      if (!found) return undefined
      const unknown = unknownIn(world.users, body)
      if (unknown) return unknown
      Object.assign(found, body, { updated_at: new Date(world.clock() * 1000) })
      return { body: render.protection(found) }
    }),
  ],
  [
    'DELETE',
    at('/branch_protections/([^/]+)'),
    inRepository((_, repository, name) => {
      const rest = repository.protections.filter((each) => each.branch_name !== name)
      const isThere = rest.length < repository.protections.length
      repository.protections = rest
      return isThere ? done : undefined
    }),
  ],
  [
    'PUT',
    at('/collaborators/([^/]+)'),
    inRepository(({ world, body }, { collaborators }, login = '') => {
      const user = world.users.get(login.toLowerCase())
      if (!user) return unknownUser(login)
      collaborators.set(user, text(body.permission) || 'write')
      return done
    }),
  ],
  [
    'DELETE',
    at('/collaborators/([^/]+)'),
    inRepository(({ world }, { collaborators }, login = '') => {
      const user = world.users.get(login.toLowerCase())
      if (!user) return unknownUser(login)
      collaborators.delete(user)
      return done
    }),
  ],
  [
    'PUT',
    at('/teams/([^/]+)'),
    inRepository(({ world }, repository, name = '') => {
      const teams = world.teams.get(repository.owner.login.toLowerCase())
      if (!teams) return invalid('repo is not owned by an organization', 405)
      const team = teams.find((each) => each.name.toLowerCase() === name.toLowerCase())
      if (!team) return undefined
      if (!team.repositories || team.repositories.has(repository))
        return invalid(`team '${team.name}' is already added to repo`)
      team.repositories.add(repository)
      return done
    }),
  ],
  [
    'PUT',
    /^\/teams\/(\d+)\/repos\/([^/]+)\/([^/]+)$/,
    ({ world }, id, owner = '', name = '') => {
      const team = [...world.teams.values()].flat().find((each) => each.id === Number(id))
      const repository = world.findRepository(owner, name)
      if (!team || !repository) return undefined
      team.repositories?.add(repository)
      return done
    },
  ],
  [
    'POST',
    at('/issues'),
    inRepository(({ world, render, body, viewer }, repository) => {
      const numbers = (body.labels ?? []) as number[]
      const issue = world.addIssue(repository, viewer, {
        title: text(body.title),
        body: text(body.body),
        labels: repository.labels.filter(({ id }) => numbers.includes(id)),
        milestone: repository.milestones.find(({ id }) => id === body.milestone) ?? null,
        assignees: ((body.assignees ?? []) as string[]).flatMap(
          (each) => world.users.get(each.toLowerCase()) ?? [],
        ),
        due: body.due_date ? seconds(body.due_date) : null,
      })
      if (body.closed === true) world.close(issue, viewer)
      for (const label of issue.labels)
        world.addComment(issue, viewer, '1', {
          type: 'label',
          about: { label: render.label(label) },
        })
      return created(render.issue(repository, issue))
    }),
  ],
  [
    'PATCH',
    at('/issues/(\\d+)'),
    onIssue((context, repository, issue) => {
      const error = editIssue(context, repository, issue)
      return error ?? created(context.render.issue(repository, issue))
    }),
  ],
  [
    'PATCH',
    at('/pulls/(\\d+)'),
    onPull((context, repository, issue) => {
      const { body, render } = context
      if (body.labels) issue.labels = labelsOf(repository, body.labels)
      if (body.base) issue.pull.base = text(body.base)
      const error = editIssue(context, repository, issue)
      return error ?? created(render.pull(repository, issue))
    }),
  ],
  [
    'POST',
    at('/issues/(\\d+)/deadline'),
    onIssue(({ body, render }, repository, issue) => {
      issue.due = body.due_date ? endOfDay(body.due_date) : null
      return created({ due_date: render.issue(repository, issue).due_date })
    }),
  ],
  ...(['PUT', 'POST'] as const).map((method): [string, RegExp, Route] => [
    method,
    at('/issues/(\\d+)/labels'),
    onIssue(({ body, render }, repository, issue) => {
      const kept = method === 'POST' ? issue.labels : []
      issue.labels = [...new Set([...kept, ...labelsOf(repository, body.labels)])]
      return { body: issue.labels.map(render.label) }
    }),
  ]),
  [
    'POST',
    at('/issues/(\\d+)/dependencies'),
    onIssue(({ world, render, body }, repository, issue) => {
      const [owner, name] = [text(body.owner), text(body.repo)]
      const other = world.findRepository(owner, name)?.issues.get(Number(body.index))
      if (!other) return undefined
      // Gitea responds with 500, although this is an error of the client.
      if (issue.dependencies.includes(other)) return invalid('issue dependency already exists', 500)
      issue.dependencies.push(other)
      return created(render.issue(repository, issue))
    }),
  ],
  [
    'POST',
    at('/issues/(\\d+)/pin'),
    onIssue((_, { issues }, issue) => {
      const orders = [...issues.values()].map(({ pinOrder }) => pinOrder)
      issue.pinOrder ||= Math.max(...orders) + 1
      return done
    }),
  ],
  [
    'DELETE',
    at('/issues/(\\d+)/pin'),
    onIssue((_, __, issue) => {
      issue.pinOrder = 0
      return done
    }),
  ],
  ...(['PUT', 'DELETE'] as const).map((method): [string, RegExp, Route] => [
    method,
    at('/issues/(\\d+)/lock'),
    onIssue((_, __, issue) => {
      issue.isLocked = method === 'PUT'
      return done
    }),
  ]),
  [
    'DELETE',
    at('/issues/(\\d+)'),
    onIssue((_, { issues }, { number }) => {
      issues.delete(number)
      return done
    }),
  ],
  [
    'POST',
    at('/issues/(\\d+)/comments'),
    onIssue(({ world, render, body, viewer }, repository, issue) =>
      created(render.comment(repository, issue, world.addComment(issue, viewer, text(body.body)))),
    ),
  ],
  [
    'PATCH',
    at('/issues/comments/(\\d+)'),
    inRepository((context, repository, id) => {
      const { world, body, render } = context
      const found = world.findComment(repository, Number(id))
      if (!found) return undefined
      found.comment.body = text(body.body)
      found.comment.updated = timeOfChange(context)
      return { body: render.comment(repository, found.issue, found.comment) }
    }),
  ],
  [
    'DELETE',
    at('/issues/comments/(\\d+)'),
    inRepository(({ world }, repository, id) => {
      const found = world.findComment(repository, Number(id))
      if (!found) return undefined
      found.issue.comments = found.issue.comments.filter((each) => each !== found.comment)
      return done
    }),
  ],
  [
    'POST',
    at('/issues/(\\d+)/reactions'),
    onIssue(({ world, render, body, viewer }, _, issue) => {
      issue.reactions.push({ user: viewer, content: text(body.content), created: world.clock() })
      return created(render.reaction(issue.reactions.at(-1)!))
    }),
  ],
  [
    'POST',
    at('/issues/comments/(\\d+)/reactions'),
    inRepository(({ world, render, body, viewer }, repository, id) => {
      const reactions = world.findComment(repository, Number(id))?.comment.reactions
      reactions?.push({ user: viewer, content: text(body.content), created: world.clock() })
      return reactions && created(render.reaction(reactions.at(-1)!))
    }),
  ],
  [
    'POST',
    at('/issues/(\\d+)/assets'),
    onIssue((context, _, issue) => {
      issue.updated = timeOfChange(context)
      return storeUpload(context, issue.assets)
    }),
  ],
  [
    'DELETE',
    at('/issues/(\\d+)/assets/(\\d+)'),
    onIssue((_, __, { assets }, id) => deleteAsset(assets, id)),
  ],
  [
    'POST',
    at('/issues/comments/(\\d+)/assets'),
    inRepository((context, repository, id) => {
      const found = context.world.findComment(repository, Number(id))
      if (!found) return undefined
      found.comment.updated = timeOfChange(context)
      return storeUpload(context, found.comment.assets)
    }),
  ],
  [
    'DELETE',
    at('/issues/comments/(\\d+)/assets/(\\d+)'),
    inRepository(({ world }, repository, id, asset) => {
      const found = world.findComment(repository, Number(id))
      return found && deleteAsset(found.comment.assets, asset)
    }),
  ],
  [
    'POST',
    at('/pulls'),
    inRepository(({ world, render, body, viewer }, repository) => {
      const [, owner, branch = ''] = /^(?:([^:]+):)?(.+)$/.exec(text(body.head)) ?? []
      const from = owner ? findFork(world.repositories, repository, owner) : repository
      if (!from) return undefined
      const name = fullNameOf(from)
      const head = { branch, sha: from.branches.get(branch) ?? sha(9), repository: name }
      const issue = world.addPull(repository, viewer, { head, base: text(body.base) })
      issue.title = text(body.title)
      issue.body = text(body.body)
      world.keepHead(repository, issue.number, issue.pull)
      return created(render.pull(repository, issue))
    }),
  ],
  [
    'POST',
    at('/pulls/(\\d+)/merge'),
    onPull(({ world, viewer, body }, repository, issue) => {
      const { base: branch, head } = issue.pull
      if (issue.pull.merged) return { status: 405, body: { message: 'already merged' } }
      const tip = world.git?.merge(fullNameOf(repository), {
        ...{ branch, head: head.sha, by: { login: viewer.login, at: world.clock() } },
        style: text(body.Do) as MergeStyle,
        message: text(body.MergeTitleField) || `Merge pull request '${issue.title}'`,
      })
      world.merge(issue, viewer, tip)
      world.readBranches(repository)
      return { status: 200 }
    }),
  ],
  [
    'POST',
    at('/pulls/(\\d+)/reviews'),
    onPull((context, repository, issue) => {
      const { world, render, body, viewer } = context
      const review = world.addReview(issue, viewer, text(body.event), text(body.body))
      for (const each of (body.comments ?? []) as {
        path: string
        body: string
        new_position: number
      }[])
        world.addLineComment(issue, review, viewer, each.path, each.new_position).body = each.body
      return { body: render.review(repository, issue, review) }
    }),
  ],
  [
    'POST',
    at('/pulls/(\\d+)/reviews/(\\d+)/dismissals'),
    onPull(({ world, render }, repository, issue, id) => {
      const review = issue.pull.reviews.find((each) => each.id === Number(id))
      if (!review) return undefined
      review.dismissed = true
      review.updated = world.clock()
      issue.updated = world.clock()
      return { body: render.review(repository, issue, review) }
    }),
  ],
  [
    'POST',
    at('/pulls/(\\d+)/requested_reviewers'),
    onPull(({ world, render, body, viewer }, repository, issue) => {
      for (const login of (body.reviewers ?? []) as string[]) {
        const reviewer = world.users.get(login.toLowerCase()) ?? null
        const review = world.addReview(issue, reviewer, 'REQUEST_REVIEW')
        const comment = issue.comments.find(({ id }) => id === review.commentId)
        const about = { assignee: render.user(reviewer) }
        if (comment) Object.assign(comment, { type: 'review_request', user: viewer, about })
      }
      const teams = world.teams.get(repository.owner.login.toLowerCase()) ?? []
      for (const name of (body.team_reviewers ?? []) as string[]) {
        const team = teams.find((each) => each.name === name)
        if (team)
          Object.assign(world.addReview(issue, null, 'REQUEST_REVIEW'), { team, commit: '' })
      }
      return created([])
    }),
  ],
  [
    'POST',
    at('/releases'),
    inRepository(({ world, render, body, viewer }, repository) => {
      const tag = text(body.tag_name)
      const release = world.addRelease(repository, viewer, tag, {
        name: text(body.name),
        body: text(body.body),
        draft: body.draft === true,
        prerelease: body.prerelease === true,
      })
      const tip = repository.branches.get(text(body.target_commitish) || 'main')
      if (!release.draft && tip) world.git?.setRef(fullNameOf(repository), `refs/tags/${tag}`, tip)
      return created(render.release(repository, release))
    }),
  ],
  [
    'PATCH',
    at('/releases/(\\d+)'),
    inRepository(({ render, body }, repository, id) => {
      const release = repository.releases.find((each) => each.id === Number(id))
      if (!release) return undefined
      if (body.tag_name) release.tag = text(body.tag_name)
      if (body.name) release.name = text(body.name)
      if (body.body) release.body = text(body.body)
      if (typeof body.draft === 'boolean') release.draft = body.draft
      if (typeof body.prerelease === 'boolean') release.prerelease = body.prerelease
      return { body: render.release(repository, release) }
    }),
  ],
  [
    'POST',
    at('/releases/(\\d+)/assets'),
    inRepository((context, { releases }, id) => {
      const release = releases.find((each) => each.id === Number(id))
      return release && storeUpload(context, release.assets)
    }),
  ],
  [
    'DELETE',
    at('/releases/(\\d+)/assets/(\\d+)'),
    inRepository((_, { releases }, id, asset) => {
      const release = releases.find((each) => each.id === Number(id))
      return release && deleteAsset(release.assets, asset)
    }),
  ],
]

/** Returns when a change was made: Forgejo lets the client set the time. */
function timeOfChange({ world, url, body, dialect }: WriteContext): number {
  const time = Date.parse(url.searchParams.get('updated_at') ?? text(body.updated_at))
  const isForgejo = !/^1\./.test(dialect.version)
  return isForgejo && !Number.isNaN(time) ? time / 1000 : world.clock()
}

const labelOf = (id: number, body: Record<string, unknown>) => ({
  id,
  name: text(body.name),
  color: text(body.color).replace('#', ''),
  description: text(body.description),
})

/** Stores the file of the form's field `attachment`. */
async function storeUpload(
  { world, render, form, url }: WriteContext,
  assets: Asset[],
): Promise<ForgeResponse> {
  const file = form.get('attachment')
  if (!(file instanceof File)) return invalid('http: no such file', 500)
  const bytes = Buffer.from(await file.arrayBuffer())
  assets.push(world.createAsset(url.searchParams.get('name') || file.name, bytes))
  return created(render.asset(assets.at(-1)!))
}

function deleteAsset(assets: Asset[], id: string | undefined): ForgeResponse | undefined {
  const index = assets.findIndex((each) => each.id === Number(id))
  if (index < 0) return undefined
  assets.splice(index, 1)
  return done
}

function createRepository(
  { world, render, body, viewer }: WriteContext,
  login = '',
): ForgeResponse | undefined {
  const owner = world.users.get(login.toLowerCase())
  if (!owner) return undefined
  if (world.findRepository(login, text(body.name)))
    return invalid('The repository with the same name already exists.', 409)
  const repository = world.addRepository(owner, text(body.name))
  repository.isPrivate = body.private === true
  repository.description = text(body.description)
  repository.topics = []
  repository.defaultBranch = text(body.default_branch) || 'main'
  if (world.git) {
    const [name, branch] = [fullNameOf(repository), repository.defaultBranch]
    world.git.create(name, branch)
    const file = { path: 'README.md', bytes: Buffer.from(`# ${repository.name}\n`) }
    const by = { login: viewer.login, at: world.clock() }
    if (body.auto_init) world.git.addFile(name, file, { branch, message: 'Initial commit', by })
    world.readBranches(repository)
  }
  return created(render.repository(repository))
}

/** Copies a repository of this server; other addresses cannot be reached. */
function createMirror({ world, render, body, url }: WriteContext): ForgeResponse | undefined {
  const owner = world.users.get(text(body.repo_owner).toLowerCase())
  const address = new URL(text(body.clone_addr))
  const [from = '', name = ''] = address.pathname
    .replace(/\.git$/, '')
    .split('/')
    .slice(-2)
  const origin = address.host === url.host ? world.findRepository(from, name) : undefined
  if (!owner || !origin) return invalid('Clone failed: the address cannot be reached')
  const mirror = world.addRepository(owner, text(body.repo_name))
  const { defaultBranch, branches } = origin
  Object.assign(mirror, { defaultBranch, description: '', topics: [] })
  mirror.branches = new Map(branches)
  if (body.mirror) mirror.mirrorOf = text(body.clone_addr)
  world.git?.clone(world.git.path(fullNameOf(origin)), fullNameOf(mirror))
  return created(render.repository(mirror))
}

function editRepository(
  { world, render, body }: WriteContext,
  repository: Repository,
): ForgeResponse {
  if (typeof body.description === 'string') repository.description = body.description
  if (typeof body.website === 'string') repository.website = body.website
  if (typeof body.private === 'boolean') repository.isPrivate = body.private
  if (typeof body.template === 'boolean') repository.isTemplate = body.template
  if (typeof body.archived === 'boolean') repository.isArchived = body.archived
  const branch = text(body.default_branch)
  // Gitea ignores a branch that does not exist.
  if (repository.branches.has(branch)) {
    repository.defaultBranch = branch
    world.git?.setHead(fullNameOf(repository), branch)
  }
  const name = text(body.name)
  if (name && name !== repository.name) world.renameRepository(repository, name)
  return { body: render.repository(repository) }
}

/** Returns an error if the edit names somebody who does not exist. */
function editIssue(
  context: WriteContext,
  repository: Repository,
  issue: Issue,
): ForgeResponse | undefined {
  const { world, body, viewer } = context
  const assignees = (body.assignees as string[] | undefined)?.map(
    (login) => world.users.get(login.toLowerCase()) ?? login,
  )
  const missing = assignees?.find((each) => typeof each === 'string')
  if (missing) return unknownUser(missing, 500)
  if (assignees) issue.assignees = assignees as User[]
  if (body.state === 'closed' && issue.closed === null) world.close(issue, viewer)
  if (body.state === 'open') issue.closed = null
  if (body.title && body.title !== issue.title) {
    const about = { old_title: issue.title, new_title: body.title }
    world.addComment(issue, viewer, '', { type: 'change_title', about })
    issue.title = text(body.title)
  }
  if (typeof body.body === 'string') issue.body = body.body
  if (body.due_date) issue.due = endOfDay(body.due_date)
  if (body.unset_due_date) issue.due = null
  if (typeof body.milestone === 'number')
    issue.milestone = repository.milestones.find(({ id }) => id === body.milestone) ?? null
  issue.updated = timeOfChange(context)
  return undefined
}

/** Gitea keeps only the day of a deadline that is edited. */
const endOfDay = (time: unknown) => Math.floor(seconds(time) / 86_400) * 86_400 + 86_399

const labelsOf = ({ labels }: Repository, ids: unknown) =>
  labels.filter(({ id }) => (ids as number[]).includes(id))

function findFork(
  repositories: Map<string, Repository>,
  origin: Repository,
  owner: string,
): Repository | undefined {
  return [...repositories.values()].find(
    (each) =>
      each.owner.login.toLowerCase() === owner.toLowerCase() &&
      (each === origin || each.forkOf === origin),
  )
}

const LISTS_OF_USERS = [
  'push_whitelist_usernames',
  'merge_whitelist_usernames',
  'approvals_whitelist_username',
]

function unknownIn(users: Map<string, User>, body: Record<string, unknown>) {
  for (const list of LISTS_OF_USERS)
    for (const login of (body[list] ?? []) as string[])
      if (!users.has(login.toLowerCase())) return invalid(`User does not exist: ${login}`)
  return undefined
}

function protectBranch(
  { world, render, body, dialect }: WriteContext,
  { branches, protections }: Repository,
): ForgeResponse | undefined {
  const name = text(body.rule_name) || text(body.branch_name)
  if (!dialect.isNew && !branches.has(name)) return undefined
  if (protections.some((each) => each.branch_name === name))
    return invalid('Branch protection already exist', 403)
  const unknown = unknownIn(world.users, body)
  if (unknown) return unknown
  const now = new Date(world.clock() * 1000)
  const none = {
    push_whitelist_teams: [],
    merge_whitelist_teams: [],
    approvals_whitelist_teams: [],
  }
  const off = {
    ...{ enable_push: false, enable_push_whitelist: false, push_whitelist_deploy_keys: false },
    ...{ enable_merge_whitelist: false, enable_status_check: false, required_approvals: 0 },
    ...{ enable_approvals_whitelist: false, block_on_rejected_reviews: false },
    ...{ block_on_official_review_requests: false, block_on_outdated_branch: false },
    ...{ dismiss_stale_approvals: false, require_signed_commits: false },
  }
  const protection = {
    ...{ ...Object.fromEntries(LISTS_OF_USERS.map((list) => [list, []])), ...none, ...off },
    ...{ status_check_contexts: null, protected_file_patterns: '' },
    ...{ ...body, rule_name: name, branch_name: name, created_at: now, updated_at: now },
  }
  protections.push(protection)
  return created(render.protection(protection))
}

/** Adds a page, and with the first one the repository of the wiki. */
export function addWikiPage(
  { git }: Pick<WriteContext['world'], 'git'>,
  repository: Repository,
  { title, bytes, by }: { title: string; bytes: Buffer; by: { login: string; at: number } },
): void {
  const name = `${fullNameOf(repository)}.wiki`
  if (git?.isThere(name) === false) git.create(name, 'master')
  const commit = { branch: 'master', message: `Add '${title}'`, by }
  git?.addFile(name, { path: `${title}.md`, bytes }, commit)
}
