import { ForgeSeeder, type Target } from './forge-seeder.ts'

/** The content of a forge for the contract tests: at least one object of each kind, written through the API. */
export interface SeededScene {
  seeder: ForgeSeeder
  organization: string
  topics: string[]
  /** The team of bob, with write access. */
  team: { id: number }
  repository: { owner: string; name: string }
  path: string
  ann: string
  bob: string
  label: { id: number }
  milestone: { id: number }
  /** Labelled, assigned and renamed, with two comments, one of them by a deleted user. */
  issue: number
  comment: { id: number }
  closedIssue: number
  mergedPull: number
  openPull: number
  /** Whether this version accepts attachments of issues through its API. */
  hasIssueFile: boolean
  issueCount: number
  /** The steps of `remove`, which runs them in reverse order. */
  undo: (() => Promise<unknown>)[]
  remove(): Promise<void>
}

/** More issues than fit on a page. */
const EXTRA_ISSUES = 53

export async function seedForge(target: Target): Promise<SeededScene> {
  const seeder = new ForgeSeeder(target)
  const undo: (() => Promise<unknown>)[] = []
  const remove = async () => {
    for (const step of undo.reverse()) await step()
  }
  try {
    const scene = await seedEverything(seeder, undo)
    return { ...scene, undo, remove }
  } catch (error) {
    await remove().catch(() => {})
    throw error
  }
}

async function seedEverything(seeder: ForgeSeeder, undo: (() => Promise<unknown>)[]) {
  const user = async (name: string) => {
    const login = await seeder.addUser(name)
    undo.push(() => seeder.callIfKnown('DELETE', `/admin/users/${login}`))
    return login
  }
  const [ann, bob, cee] = [await user('ann'), await user('bob'), await user('cee')]
  const organization = `${seeder.prefix}-org`
  await seeder.call('POST', `/admin/users/${ann}/orgs`, { body: { username: organization } })
  undo.push(() => seeder.call('DELETE', `/orgs/${organization}`))
  const team = await seedTeam(seeder, organization, ann, bob)
  const repository = { owner: organization, name: 'widgets' }
  const path = `/repos/${organization}/widgets`
  await seeder.call('POST', `/orgs/${organization}/repos`, {
    as: ann,
    body: { name: 'widgets', auto_init: true, readme: 'Default', default_branch: 'main' },
  })
  undo.push(() => seeder.call('DELETE', path))
  const topics = ['birds', 'sea']
  await seeder.call('PUT', `${path}/topics`, { as: ann, body: { topics } })
  await seeder.call('PUT', `${path}/collaborators/${cee}`, {
    as: ann,
    body: { permission: 'read' },
  })
  const issues = await seedIssues(seeder, path, { ann, bob, cee })
  const pulls = await seedPulls(seeder, path, { ann, bob })
  await seedRest(seeder, path, ann)
  for (let n = 0; n < EXTRA_ISSUES; n++)
    await seeder.call('POST', `${path}/issues`, { body: { title: `one of many, ${n}` } })
  // The comments of this user stay, without an author.
  await seeder.call('DELETE', `/admin/users/${cee}`)
  return {
    seeder,
    organization,
    topics,
    team,
    repository,
    path,
    ann,
    bob,
    ...issues,
    ...pulls,
    issueCount: EXTRA_ISSUES + 4,
  }
}

async function seedTeam(seeder: ForgeSeeder, organization: string, ann: string, bob: string) {
  const team = await seeder.call<{ id: number }>('POST', `/orgs/${organization}/teams`, {
    as: ann,
    body: {
      name: 'core-team',
      permission: 'write',
      includes_all_repositories: true,
      units: ['repo.code', 'repo.issues', 'repo.pulls', 'repo.releases'],
    },
  })
  await seeder.call('PUT', `/teams/${team.id}/members/${bob}`, { as: ann })
  await seeder.call('POST', `/orgs/${organization}/labels`, {
    as: ann,
    body: { name: 'all over', color: '#00aabb', description: 'of the organization' },
  })
  return team
}

type People = Record<'ann' | 'bob' | 'cee', string>

async function seedIssues(seeder: ForgeSeeder, path: string, { ann, bob, cee }: People) {
  const label = await seeder.call<{ id: number }>('POST', `${path}/labels`, {
    as: ann,
    body: { name: 'bug', color: '#ee0701', description: 'broken' },
  })
  const milestone = await seeder.call<{ id: number }>('POST', `${path}/milestones`, {
    as: ann,
    body: { title: 'v1', description: 'the first' },
  })
  const first = await seeder.call<{ number: number }>('POST', `${path}/issues`, {
    as: ann,
    body: {
      title: 'first title',
      body: 'text',
      labels: [label.id],
      milestone: milestone.id,
      assignees: [bob],
    },
  })
  const issue = `${path}/issues/${first.number}`
  await seeder.call('PATCH', issue, { as: ann, body: { title: 'second title' } })
  await seeder.call('POST', `${issue}/reactions`, { as: bob, body: { content: '+1' } })
  const comment = await seeder.call<{ id: number }>('POST', `${issue}/comments`, {
    as: bob,
    body: { body: 'me too' },
  })
  await seeder.call('POST', `${path}/issues/comments/${comment.id}/reactions`, {
    as: ann,
    body: { content: 'heart' },
  })
  await seeder.call('POST', `${issue}/comments`, { as: cee, body: { body: 'good bye' } })
  const file = { name: 'notes.txt', bytes: 'bytes of notes' }
  const uploaded = await seeder.callIfKnown('POST', `${issue}/assets?name=notes.txt`, {
    as: ann,
    file,
  })
  const second = await seeder.call<{ number: number }>('POST', `${path}/issues`, {
    as: bob,
    body: { title: 'to be closed' },
  })
  await seeder.call('PATCH', `${path}/issues/${second.number}`, {
    as: ann,
    body: { state: 'closed' },
  })
  const hasIssueFile = uploaded !== undefined
  return {
    label,
    milestone,
    issue: first.number,
    comment,
    closedIssue: second.number,
    hasIssueFile,
  }
}

const LINES = ['one', 'two', 'three', 'four', 'five', 'six'].join('\n')

async function seedPulls(seeder: ForgeSeeder, path: string, { ann, bob }: Omit<People, 'cee'>) {
  const open = async (branch: string, title: string) => {
    await seeder.call('POST', `${path}/contents/${branch}.txt`, {
      as: ann,
      body: {
        content: Buffer.from(`${LINES}\n`).toString('base64'),
        message: `add ${branch}`,
        branch: 'main',
        new_branch: branch,
      },
    })
    const body = { head: branch, base: 'main', title, body: 'please look' }
    return seeder.call<{ number: number }>('POST', `${path}/pulls`, { as: ann, body })
  }
  const merged = await open('work-1', 'the change')
  const reviews = `${path}/pulls/${merged.number}/reviews`
  const review = await seeder.call<{ id: number }>('POST', reviews, {
    as: bob,
    body: {
      event: 'REQUEST_CHANGES',
      body: 'not yet',
      comments: [{ path: 'work-1.txt', body: 'why this line?', new_position: 3 }],
    },
  })
  await seeder.call('POST', reviews, { as: ann, body: { event: 'COMMENT', body: 'by the way' } })
  await seeder.call('POST', `${reviews}/${review.id}/dismissals`, {
    as: ann,
    body: { message: 'it was explained' },
  })
  await seeder.call('POST', reviews, { as: bob, body: { event: 'APPROVED', body: 'fine' } })
  await seeder.callUntilDone('POST', `${path}/pulls/${merged.number}/merge`, {
    as: ann,
    body: { Do: 'merge', do: 'merge' },
  })
  const later = await open('work-2', 'WIP: later')
  await seeder.call('POST', `${path}/pulls/${later.number}/requested_reviewers`, {
    as: ann,
    body: { reviewers: [bob] },
  })
  return { mergedPull: merged.number, openPull: later.number }
}

async function seedRest(seeder: ForgeSeeder, path: string, ann: string) {
  const release = await seeder.call<{ id: number }>('POST', `${path}/releases`, {
    as: ann,
    body: {
      tag_name: 'v1.0',
      target_commitish: 'main',
      name: 'One',
      body: 'notes',
      prerelease: true,
    },
  })
  await seeder.call('POST', `${path}/releases/${release.id}/assets?name=tool.txt`, {
    as: ann,
    file: { name: 'tool.txt', bytes: 'bytes of a tool' },
  })
  await seeder.call('POST', `${path}/releases`, {
    as: ann,
    body: { tag_name: 'v2.0', target_commitish: 'main', name: 'Two', body: '', draft: true },
  })
  await seeder.call('POST', `${path}/branch_protections`, {
    as: ann,
    body: {
      branch_name: 'main',
      rule_name: 'main',
      enable_push: true,
      enable_push_whitelist: true,
      push_whitelist_usernames: [ann],
      required_approvals: 1,
    },
  })
}
