import type { IncomingHttpHeaders } from 'node:http'
import { type Asset, type Issue, type Pull, type Repository, sha } from './forge-data.ts'
import type { ForgeResponse, RouteContext } from './responses.ts'

export interface WriteContext extends RouteContext {
  body: Record<string, unknown>
  bytes: Buffer
  headers: IncomingHttpHeaders
}

type Route = (context: WriteContext, ...names: string[]) => ForgeResponse | undefined

const created = (body: unknown): ForgeResponse => ({ status: 201, body })
const done: ForgeResponse = { status: 204 }
const text = (value: unknown) => (typeof value === 'string' ? value : '')

const inRepository =
  (
    route: (
      context: WriteContext,
      repository: Repository,
      ...names: string[]
    ) => ForgeResponse | undefined,
  ): Route =>
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
  ) => ForgeResponse | undefined,
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
  ) => ForgeResponse | undefined,
) =>
  onIssue((context, repository, issue, ...names) =>
    issue.pull ? route(context, repository, issue as Issue & { pull: Pull }, ...names) : undefined,
  )

const REPO = '^/repos/([^/]+)/([^/]+)'
const at = (rest: string) => new RegExp(`${REPO}${rest}$`)

/** The POST, PUT, PATCH and DELETE routes of Gitea's API that the contract needs to write its data. */
export const WRITE_ROUTES: readonly [string, RegExp, Route][] = [
  [
    'POST',
    /^\/admin\/users$/,
    ({ world, render, body }) =>
      created(render.user(world.addUser(text(body.username), { fullName: text(body.full_name) }))),
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
      const user = world.addUser(text(body.username), { isOrganization: true })
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
      return (
        user &&
        created(render.team(world.addTeam(user, text(body.name), text(body.permission), [])))
      )
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
    /^\/orgs\/([^/]+)\/repos$/,
    ({ world, render, body }, login = '') => {
      const owner = world.users.get(login.toLowerCase())
      return owner && created(render.repository(world.addRepository(owner, text(body.name))))
    },
  ],
  [
    'DELETE',
    at(''),
    ({ world }, owner, name) => {
      world.repositories.delete(`${owner}/${name}`.toLowerCase())
      return done
    },
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
    'POST',
    at('/contents/(.+)'),
    inRepository((context, { branches }) => {
      const name = text(context.body.new_branch) || 'main'
      branches.set(name, sha(context.world.id()))
      return created({ commit: { sha: branches.get(name) } })
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
      const plain = { closed: null, due: null, created: world.clock() }
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
    'POST',
    at('/branch_protections'),
    inRepository(({ body }, { protections }) => {
      protections.push(body)
      return created(body)
    }),
  ],
  [
    'PUT',
    at('/collaborators/([^/]+)'),
    inRepository(({ world, body }, { collaborators }, login = '') => {
      const user = world.users.get(login.toLowerCase())
      if (!user) return undefined
      collaborators.set(user, text(body.permission) || 'write')
      return done
    }),
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
      })
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
    onIssue(({ world, render, body, viewer }, repository, issue) => {
      if (body.state === 'closed') world.close(issue, viewer)
      if (body.title) {
        const about = { old_title: issue.title, new_title: body.title }
        world.addComment(issue, viewer, '', { type: 'change_title', about })
        issue.title = text(body.title)
      }
      return created(render.issue(repository, issue))
    }),
  ],
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
    inRepository(({ world, body, render }, repository, id) => {
      const found = world.findComment(repository, Number(id))
      if (!found) return undefined
      found.comment.body = text(body.body)
      found.comment.updated = world.clock()
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
    onIssue((context, _, issue) =>
      context.dialect.hasAssets ? storeUpload(context, issue.assets) : undefined,
    ),
  ],
  [
    'POST',
    at('/pulls'),
    inRepository(({ world, render, body, viewer }, repository) => {
      const branch = text(body.head)
      const head = {
        branch,
        sha: repository.branches.get(branch) ?? sha(9),
        repository: `${repository.owner.login}/${repository.name}`,
      }
      const issue = world.addPull(repository, viewer, { head, base: text(body.base) })
      issue.title = text(body.title)
      issue.body = text(body.body)
      return created(render.pull(repository, issue))
    }),
  ],
  [
    'POST',
    at('/pulls/(\\d+)/merge'),
    onPull(({ world, viewer }, _, issue) => {
      world.merge(issue, viewer)
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
    onPull(({ world, render, body, viewer }, _, issue) => {
      for (const login of (body.reviewers ?? []) as string[]) {
        const reviewer = world.users.get(login.toLowerCase()) ?? null
        const review = world.addReview(issue, reviewer, 'REQUEST_REVIEW')
        const comment = issue.comments.find(({ id }) => id === review.commentId)
        const about = { assignee: render.user(reviewer) }
        if (comment) Object.assign(comment, { type: 'review_request', user: viewer, about })
      }
      return created([])
    }),
  ],
  [
    'POST',
    at('/releases'),
    inRepository(({ world, render, body, viewer }, repository) =>
      created(
        render.release(
          world.addRelease(repository, viewer, text(body.tag_name), {
            name: text(body.name),
            body: text(body.body),
            draft: body.draft === true,
            prerelease: body.prerelease === true,
          }),
        ),
      ),
    ),
  ],
  [
    'POST',
    at('/releases/(\\d+)/assets'),
    inRepository((context, { releases }, id) => {
      const release = releases.find((each) => each.id === Number(id))
      return release && storeUpload(context, release.assets)
    }),
  ],
]

const labelOf = (id: number, body: Record<string, unknown>) => ({
  id,
  name: text(body.name),
  color: text(body.color).replace('#', ''),
  description: text(body.description),
})

/** Reads one file of a form, in the field `attachment`. */
function storeUpload(
  { world, render, bytes, headers, url }: WriteContext,
  assets: Asset[],
): ForgeResponse | undefined {
  const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1]
  const start = bytes.indexOf('\r\n\r\n')
  const head = bytes.subarray(0, start).toString()
  if (!boundary || !head.includes('name="attachment"'))
    return { status: 400, body: { message: 'no attachment' } }
  const content = bytes.subarray(start + 4, bytes.lastIndexOf(`\r\n--${boundary}`))
  const name = url.searchParams.get('name') ?? /filename="([^"]*)"/.exec(head)?.[1] ?? 'file'
  assets.push(world.createAsset(name, Buffer.from(content)))
  return created(render.asset(assets.at(-1)!))
}
