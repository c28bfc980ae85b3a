import {
  type ForgeData,
  fullNameOf,
  type Issue,
  type Milestone,
  type Pull,
  type Repository,
} from './forge-data.ts'
import {
  isMemberOf,
  listedOrganizations,
  listedRepositories,
  listedTeams,
  MODES,
  modeOf,
  teamsWith,
} from './permissions.ts'
import {
  countedPage,
  cutPage,
  type ForgeResponse,
  linkHeader,
  pagingOf,
  type RouteContext,
} from './responses.ts'

type Route = (context: RouteContext, ...names: string[]) => ForgeResponse | undefined

/** The GET routes of Gitea's API; undefined is 404. */
export const READ_ROUTES: readonly [RegExp, Route][] = [
  [/^\/version$/, ({ dialect }) => ({ body: { version: dialect.version } })],
  [
    /^\/settings\/api$/,
    ({ maxPageSize }) => ({ body: { max_response_items: maxPageSize, default_paging_num: 30 } }),
  ],
  [/^\/user$/, ({ render, viewer }) => ({ body: render.user(viewer) })],
  [/^\/user\/repos$/, ownRepositories],
  [/^\/user\/teams$/, ownTeams],
  [
    /^\/user\/orgs$/,
    (context) =>
      countedPage(
        listedOrganizations(context),
        context.url.searchParams,
        context.render.organization,
      ),
  ],
  // Only asked whether the token may read issues.
  [/^\/repos\/issues\/search$/, () => ({ body: [] })],
  [/^\/repos\/search$/, searchRepositories],
  [
    /^\/orgs$/,
    ({ world, render, url }) =>
      countedPage(
        [...world.users.values()].filter(({ isOrganization }) => isOrganization),
        url.searchParams,
        render.organization,
      ),
  ],
  [
    /^\/orgs\/([^/]+)\/repos$/,
    ({ world, render, url }, login) => {
      const owner = organization(world, login)
      const all = [...world.repositories.values()].filter((each) => each.owner === owner)
      return owner && countedPage(all, url.searchParams, (each) => render.repository(each))
    },
  ],
  [
    /^\/admin\/users$/,
    ({ world, render, url, viewer }) => {
      const people = [...world.users.values()].filter(({ isOrganization }) => !isOrganization)
      return viewer.isAdmin
        ? countedPage(people, url.searchParams, (each) => render.user(each))
        : { status: 403, body: { message: 'not an administrator' } }
    },
  ],
  [
    /^\/users\/search$/,
    ({ world, render, url }) => {
      const id = Number(url.searchParams.get('uid'))
      const found = [...world.users.values()].filter(
        (each) => each.id === id && !each.isOrganization,
      )
      return { body: { ok: true, data: found.map((each) => render.user(each)) } }
    },
  ],
  [
    /^\/users\/([^/]+)$/,
    ({ world, render }, login) => {
      const user = world.users.get(String(login).toLowerCase())
      return user && { body: render.user(user) }
    },
  ],
  [
    /^\/orgs\/([^/]+)$/,
    ({ world, render }, login) => {
      const user = organization(world, login)
      return user && { body: render.organization(user) }
    },
  ],
  [
    /^\/orgs\/([^/]+)\/members$/,
    ({ world, render, url, viewer }, login) => {
      const teams = world.teams.get(String(login).toLowerCase())
      const isMember = teams && isMemberOf(world, organization(world, login)!, viewer)
      // All memberships are hidden from others.
      const members = isMember ? [...new Set(teams.flatMap((team) => [...team.members]))] : []
      return teams && countedPage(members, url.searchParams, (each) => render.user(each))
    },
  ],
  [
    /^\/orgs\/([^/]+)\/teams$/,
    (context, login) => {
      const { world, render, url } = context
      const owner = organization(world, login)
      return owner && countedPage(listedTeams(context, owner), url.searchParams, render.team)
    },
  ],
  [
    /^\/orgs\/([^/]+)\/labels$/,
    ({ world, render, url }, login) => {
      const labels = world.organizationLabels.get(String(login).toLowerCase()) ?? []
      return organization(world, login) && countedPage(labels, url.searchParams, render.label)
    },
  ],
  [
    /^\/teams\/(\d+)\/members$/,
    ({ world, render, url }, id) => {
      const team = [...world.teams.values()].flat().find((each) => each.id === Number(id))
      return team && countedPage([...team.members], url.searchParams, (each) => render.user(each))
    },
  ],
]

const organization = (world: ForgeData, login = '') => {
  const user = world.users.get(login.toLowerCase())
  return user?.isOrganization ? user : undefined
}

type RepositoryRoute = (
  context: RouteContext,
  repository: Repository,
  ...names: string[]
) => ForgeResponse | undefined

export const REPOSITORY_READ_ROUTES: readonly [RegExp, RepositoryRoute][] = [
  [
    /^$/,
    (context, repository) => ({
      body: context.viewer.isAdmin
        ? context.render.repository(repository)
        : repositoryFor(context, repository),
    }),
  ],
  [/^\/topics$/, (_, { topics }) => ({ body: { topics } })],
  [
    /^\/labels$/,
    ({ render, url }, { labels }) => countedPage(labels, url.searchParams, render.label),
  ],
  [
    /^\/milestones$/,
    ({ render, url }, { milestones }) => {
      const showsClosed = url.searchParams.get('state') === 'all'
      const shown = milestones.filter(({ closed }) => showsClosed || closed === null)
      const due = (each: Milestone) => each.due ?? Number.POSITIVE_INFINITY
      shown.sort((a, b) => (due(a) === due(b) ? a.id - b.id : due(a) - due(b)))
      return countedPage(shown, url.searchParams, render.milestone)
    },
  ],
  [
    /^\/releases$/,
    ({ render, url }, repository) =>
      countedPage([...repository.releases].reverse(), url.searchParams, (each) =>
        render.release(repository, each),
      ),
  ],
  [
    /^\/releases\/(\d+)$/,
    ({ render }, repository, id) => {
      const release = repository.releases.find((each) => each.id === Number(id))
      return release && { body: render.release(repository, release) }
    },
  ],
  [
    /^\/releases\/(\d+)\/assets$/,
    ({ render }, { releases }, id) => {
      const release = releases.find((each) => each.id === Number(id))
      return release && { body: release.assets.map(render.asset) }
    },
  ],
  [
    /^\/branch_protections$/,
    ({ render }, { protections }) => ({ body: protections.map(render.protection) }),
  ],
  [
    /^\/branch_protections\/([^/]+)$/,
    ({ render }, { protections }, name) => {
      const found = protections.find((each) => each.branch_name === name)
      return found && { body: render.protection(found) }
    },
  ],
  [
    /^\/branches$/,
    ({ url }, { branches }) =>
      countedPage([...branches], url.searchParams, ([name, id]) => ({ name, commit: { id } })),
  ],
  [
    /^\/branches\/(.+)$/,
    (_, { branches }, name = '') => {
      const id = branches.get(name)
      return id ? { body: { name, commit: { id } } } : undefined
    },
  ],
  [
    // Everyone with write access can be assigned.
    /^\/assignees$/,
    ({ world, render }, repository) => {
      const people = [...world.users.values()].filter(
        (user) => !user.isAdmin && modeOf(world, repository, user) >= MODES.indexOf('write'),
      )
      return { body: people.map((each) => render.user(each)) }
    },
  ],
  [
    /^\/collaborators$/,
    ({ render, url }, { collaborators }) =>
      countedPage([...collaborators.keys()], url.searchParams, (each) => render.user(each)),
  ],
  [
    /^\/collaborators\/([^/]+)$/,
    (_, { collaborators }, login = '') => {
      const names = [...collaborators.keys()].map((each) => each.login.toLowerCase())
      return names.includes(login.toLowerCase()) ? { status: 204 } : undefined
    },
  ],
  [
    /^\/collaborators\/([^/]+)\/permission$/,
    ({ render }, { collaborators }, login) => {
      const found = [...collaborators].find(([user]) => user.login === login)
      if (!found) return undefined
      return { body: { permission: found[1], role_name: found[1], user: render.user(found[0]) } }
    },
  ],
  [
    /^\/teams$/,
    ({ world, render }, repository) => {
      const { owner } = repository
      if (!owner.isOrganization) return { status: 405, body: { message: 'no org' } }
      return { body: teamsWith(world, repository).map(render.team) }
    },
  ],
  [/^\/issues$/, listIssues],
  [/^\/issues\/comments$/, listComments],
  [
    /^\/issues\/pinned$/,
    ({ render }, repository) => {
      const pinned = [...repository.issues.values()].filter(({ pinOrder }) => pinOrder > 0)
      pinned.sort((a, b) => a.pinOrder - b.pinOrder)
      return { body: pinned.map((each) => render.issue(repository, each)) }
    },
  ],
  [
    /^\/issues\/comments\/(\d+)$/,
    ({ render, world }, repository, id) => {
      const found = world.findComment(repository, Number(id))
      return found && { body: render.comment(repository, found.issue, found.comment) }
    },
  ],
  [
    /^\/issues\/comments\/(\d+)\/assets$/,
    ({ render, world }, repository, id) => {
      const found = world.findComment(repository, Number(id))
      return found && { body: found.comment.assets.map(render.asset) }
    },
  ],
  [
    /^\/issues\/(\d+)\/assets$/,
    ({ render }, { issues }, number) => {
      const issue = issues.get(Number(number))
      return issue && { body: issue.assets.map(render.asset) }
    },
  ],
  [
    /^\/issues\/(\d+)\/dependencies$/,
    ({ render, world, url }, { issues }, number) => {
      const issue = issues.get(Number(number))
      return (
        issue &&
        countedPage(issue.dependencies, url.searchParams, (each) =>
          render.issue(
            [...world.repositories.values()].find((one) => one.issues.get(each.number) === each)!,
            each,
          ),
        )
      )
    },
  ],
  [
    /^\/pulls\/(\d+)\.diff$/,
    ({ world }, repository, number) => {
      const pull = pullOf(repository, number)?.pull
      if (!pull || !world.git) return undefined
      const diff = world.git.diff(fullNameOf(repository), pull.mergeBase, pull.head.sha)
      return { bytes: Buffer.from(diff), headers: { 'content-type': 'text/plain;charset=utf-8' } }
    },
  ],
  [
    /^\/issues\/comments\/(\d+)\/reactions$/,
    ({ render, world }, repository, id) => {
      const found = world.findComment(repository, Number(id))
      return found && { body: orNull(found.comment.reactions.map(render.reaction)) }
    },
  ],
  [
    /^\/issues\/(\d+)$/,
    ({ render }, repository, number) => {
      const issue = repository.issues.get(Number(number))
      return issue && { body: render.issue(repository, issue) }
    },
  ],
  [
    /^\/issues\/(\d+)\/comments$/,
    ({ render, dialect }, repository, number) => {
      const issue = repository.issues.get(Number(number))
      // Gitea responds with 500 if the issue does not exist.
      if (!issue) return { status: 500, body: { message: 'issue does not exist' } }
      const comments = issue.comments.filter(({ type }) => type === 'comment')
      const headers = dialect.countsComments ? { 'x-total-count': String(comments.length) } : {}
      return { body: comments.map((each) => render.comment(repository, issue, each)), headers }
    },
  ],
  [
    /^\/issues\/(\d+)\/timeline$/,
    ({ render, url }, repository, number) => {
      const issue = repository.issues.get(Number(number))
      if (!issue) return { status: 500, body: { message: 'issue does not exist' } }
      const paging = pagingOf(url.searchParams)
      const rows = paging.page > 0 ? cutPage(issue.comments, paging) : issue.comments
      // Gitea filters these after cutting the page, and counts the page.
      const shown = rows.filter(({ type }) => type !== 'code')
      const headers = { 'x-total-count': String(shown.length) }
      return {
        body: orNull(shown.map((each) => render.timelineEntry(repository, issue, each))),
        headers,
      }
    },
  ],
  [
    /^\/issues\/(\d+)\/reactions$/,
    ({ render, url, dialect }, repository, number) => {
      const issue = repository.issues.get(Number(number))
      if (!issue) return undefined
      // Old versions list what is turned off.
      if (!dialect.isNew && repository.disabled.has(issue.pull ? 'pulls' : 'issues'))
        return { status: 403, body: { message: 'no permission to get reactions' } }
      const given = countedPage(issue.reactions, url.searchParams, render.reaction)
      return { ...given, body: orNull(given.body as unknown[]) }
    },
  ],
  [
    /^\/pulls$/,
    ({ render, url }, repository) => {
      const pulls = [...repository.issues.values()].filter(isPull)
      const isByUpdate = url.searchParams.get('sort') === 'recentupdate'
      pulls.sort((a, b) => (isByUpdate ? b.updated - a.updated : b.number - a.number))
      const given = countedPage(pulls, url.searchParams, (each) => render.pull(repository, each))
      const links = linkHeader(url, pagingOf(url.searchParams), pulls.length)
      return { ...given, headers: { ...given.headers, ...links } }
    },
  ],
  [
    /^\/pulls\/(\d+)$/,
    ({ render }, repository, number) => {
      const issue = pullOf(repository, number)
      return issue && { body: render.pull(repository, issue) }
    },
  ],
  [
    /^\/pulls\/(\d+)\/reviews$/,
    ({ render, dialect, url, viewer }, repository, number) => {
      const issue = pullOf(repository, number)
      if (!issue) return undefined
      const paging = pagingOf(url.searchParams)
      const all = issue.pull.reviews
      const rows = paging.page > 0 ? cutPage(all, paging) : all
      const shown = rows.filter((each) => each.state !== 'PENDING' || viewer.isAdmin)
      const headers = dialect.countsComments ? { 'x-total-count': String(all.length) } : {}
      return { body: shown.map((each) => render.review(repository, issue, each)), headers }
    },
  ],
  [
    /^\/pulls\/(\d+)\/reviews\/(\d+)\/comments$/,
    ({ render }, repository, number, id) => {
      const issue = pullOf(repository, number)
      const review = issue?.pull.reviews.find((each) => each.id === Number(id))
      if (!issue || !review) return undefined
      const comments = issue.comments.filter(({ code }) => code?.reviewId === review.id)
      return { body: comments.map((each) => render.code(each, review)) }
    },
  ],
]

const orNull = (list: unknown[]) => (list.length > 0 ? list : null)

const isPull = (issue: Issue): issue is Issue & { pull: Pull } => issue.pull !== null

const pullOf = ({ issues }: Repository, number = '') => {
  const issue = issues.get(Number(number))
  return issue && isPull(issue) ? issue : undefined
}

const sinceOf = (url: URL) => Date.parse(url.searchParams.get('since') ?? '1970-01-01') / 1000

/** Newest first, with `Link` and the total count. */
function listIssues({ render, url }: RouteContext, repository: Repository): ForgeResponse {
  const { searchParams: query } = url
  const state = query.get('state') ?? 'open'
  const type = query.get('type')
  const since = sinceOf(url)
  const found = [...repository.issues.values()]
    .filter(({ closed }) => state === 'all' || (closed === null) === (state === 'open'))
    .filter(({ pull }) => !type || (pull !== null) === (type === 'pulls'))
    .filter(({ updated }) => updated >= since)
    .sort((a, b) => b.created - a.created || b.id - a.id)
  const given = countedPage(found, query, (each) => render.issue(repository, each))
  const links = linkHeader(url, pagingOf(query), found.length)
  return { ...given, headers: { ...given.headers, ...links } }
}

/** Oldest first; all of them if the request has no page. */
function listComments(
  { render, url, dialect }: RouteContext,
  repository: Repository,
): ForgeResponse {
  const since = sinceOf(url)
  const found = [...repository.issues.values()]
    .flatMap((issue) => issue.comments.map((comment) => ({ issue, comment })))
    .filter(({ comment }) => comment.type === 'comment' && comment.updated >= since)
    .sort((a, b) => a.comment.created - b.comment.created || a.comment.id - b.comment.id)
  const paging = pagingOf(url.searchParams)
  const page = paging.page > 0 ? cutPage(found, paging) : found
  const body = page.map(({ issue, comment }) => render.comment(repository, issue, comment))
  return { body, headers: dialect.countsComments ? { 'x-total-count': String(found.length) } : {} }
}

/** `/user/repos`: the user's own repositories, and those with granted access. */
function ownRepositories(context: RouteContext): ForgeResponse {
  const { world, url, viewer, scopes } = context
  const all = listedRepositories({ world, viewer, scopes })
  return countedPage(all, url.searchParams, (each) => repositoryFor(context, each))
}

/** Returns a repository with the permissions of the viewer. */
function repositoryFor({ world, render, viewer }: RouteContext, repository: Repository) {
  const mode = modeOf(world, repository, viewer)
  const permissions = { admin: mode >= 3, push: mode >= 2, pull: mode >= 1 }
  return { ...render.repository(repository), permissions }
}

/** `/user/teams`: each team with its organization. */
function ownTeams({ world, render, url, viewer }: RouteContext): ForgeResponse {
  const all = [...world.teams].flatMap(([login, teams]) =>
    teams.filter(({ members }) => members.has(viewer)).map((team) => ({ login, team })),
  )
  return countedPage(all, url.searchParams, ({ login, team }) => ({
    ...render.team(team),
    organization: render.organization(world.users.get(login)!),
  }))
}

/** `/repos/search`: all visible repositories, by id. */
function searchRepositories({ world, render, url, viewer }: RouteContext): ForgeResponse {
  const all = [...world.repositories.values()]
    .filter((each) => modeOf(world, each, viewer) > 0)
    .sort((a, b) => a.id - b.id)
  const given = countedPage(all, url.searchParams, (each) => render.repository(each))
  return { ...given, body: { ok: true, data: given.body } }
}
