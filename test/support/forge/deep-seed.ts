import type { Target } from './forge-seeder.ts'
import { type SeededScene, seedForge } from './seeded-scene.ts'

/** A scene of several repositories with everything that a forge can hold. */
export interface DeepScene extends SeededScene {
  /** Each key says what is special about the repository. All belong to the organization, except `fork`, which is bob's. */
  repositories: Record<
    'widgets' | 'secret' | 'attic' | 'starter' | 'renamed' | 'mirror' | 'fork',
    { owner: string; name: string }
  >
  /** The numbers of the pull requests of `widgets`. */
  pulls: Record<Style | 'baseDeleted' | 'closed' | 'fromFork' | 'reviewed', number>
  /** The current login of the account that was renamed. */
  dora: string
  /** What this version of the server cannot hold, or does not let anybody set. */
  impossible: string[]
}

const STYLES = ['merge', 'rebase', 'rebase-merge', 'squash'] as const
type Style = (typeof STYLES)[number]

const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const LFS_OBJECT = Buffer.alloc(20_000, 'large file ')

const ISSUES = 200
/** The end of a day, as Gitea stores a deadline. */
const day = (n: number) => `2031-05-${String(n).padStart(2, '0')}T23:59:59Z`

/**
 * Fills a forge through its REST API, git and LFS: three users, an account that is deleted and one that is renamed, an
 * organization with teams, and repositories of every kind. Where an older version has no REST endpoint, the forms of its web pages
 * are used.
 */
export async function seedDeeply(target: Target): Promise<DeepScene> {
  const scene = await seedForge(target)
  const { seeder, organization, path, ann, bob } = scene
  try {
    const impossible: string[] = []
    const seed: Seed = { ...scene, full: `${organization}/widgets`, impossible }
    await seeder.call('PATCH', path, {
      as: ann,
      body: { website: 'https://widgets.example.com/', description: 'All the widgets' },
    })
    await seedMilestones(seed)
    await seedAttachments(seed)
    await seedStates(seed)
    const fork = await seedFork(seed)
    const pulls = await seedPulls(seed, fork)
    await seedFiles(seed)
    const repositories = await seedRepositories(seed, target)
    const dora = await seedRenamedAccount(seed)
    for (let n = scene.issueCount; n < ISSUES; n++)
      await seeder.call('POST', `${path}/issues`, {
        as: n % 2 ? ann : bob,
        body: { title: `number ${n} of many`, body: `text of ${n}, as #1 and @${bob} know` },
      })
    return { ...scene, repositories: { ...repositories, fork }, pulls, dora, impossible }
  } catch (error) {
    await scene.remove().catch(() => {})
    throw error
  }
}

interface Seed extends SeededScene {
  full: string
  impossible: string[]
}

const addIssue = ({ seeder, path, ann }: Seed, body: object) =>
  seeder.call<{ id: number; number: number }>('POST', `${path}/issues`, {
    as: ann,
    body: { ...body },
  })

async function seedMilestones(seed: Seed): Promise<void> {
  const { seeder, path, ann } = seed
  const add = (body: object) =>
    seeder.call<{ id: number }>('POST', `${path}/milestones`, { as: ann, body: { ...body } })
  const due = await add({ title: 'v2', description: 'with a day', due_on: day(3) })
  const past = await add({ title: 'v0', description: 'is over' })
  await addIssue(seed, { title: 'of the second', milestone: due.id, due_date: day(4) })
  await addIssue(seed, { title: 'of the one that is over', milestone: past.id, closed: true })
  await seeder.call('PATCH', `${path}/milestones/${past.id}`, {
    as: ann,
    body: { state: 'closed' },
  })
}

/** Files of an issue and a comment, some of which no text links to. */
async function seedAttachments(seed: Seed): Promise<void> {
  const { seeder, path, full, ann, bob } = seed
  const { number } = await addIssue(seed, { title: 'with files', body: 'soon' })
  await seeder.attach(
    full,
    { issue: number },
    [
      { name: 'pic ü.png', bytes: PICTURE },
      { name: 'unlinked.txt', bytes: 'no text links to this file\n' },
    ],
    {
      as: ann,
      text: ([picture]) =>
        `![a picture](${picture}) and \`${picture}\`, not ${picture?.slice(0, -3)}000`,
    },
  )
  const comment = await seeder.call<{ id: number }>('POST', `${path}/issues/${number}/comments`, {
    as: bob,
    body: { body: 'soon' },
  })
  await seeder.attach(
    full,
    { comment: comment.id },
    [{ name: 'log.txt', bytes: 'line 1\nline 2\n' }],
    {
      as: bob,
      text: ([log]) => `see [the log](${log})`,
    },
  )
}

/** Issues that are locked, pinned, and blocked by another one. */
async function seedStates(seed: Seed): Promise<void> {
  const { seeder, path, full, ann, bob, impossible } = seed
  const blocked = await addIssue(seed, {
    title: 'blocked',
    due_date: day(9),
    assignees: [ann, bob],
  })
  const blocking = await addIssue(seed, { title: 'in the way' })
  if (await seeder.knows('POST /repos/{owner}/{repo}/issues/{index}/dependencies'))
    await seeder.call('POST', `${path}/issues/${blocked.number}/dependencies`, {
      as: ann,
      body: { owner: full.split('/')[0], repo: 'widgets', index: blocking.number },
    })
  else
    await seeder.submit(ann, `/${full}/issues/${blocked.number}/dependency/add`, {
      newDependency: String(blocking.id),
    })
  const { number } = await addIssue(seed, { title: 'locked and pinned' })
  for (const content of ['+1', 'hooray', 'eyes'])
    for (const as of [ann, bob])
      await seeder.call('POST', `${path}/issues/${number}/reactions`, { as, body: { content } })
  if (await seeder.knows('POST /repos/{owner}/{repo}/issues/{index}/pin'))
    await seeder.call('POST', `${path}/issues/${number}/pin`, { as: ann })
  else impossible.push('pinned issues')
  if (await seeder.knows('PUT /repos/{owner}/{repo}/issues/{index}/lock'))
    await seeder.call('PUT', `${path}/issues/${number}/lock`, {
      as: ann,
      body: { lock_reason: 'Resolved' },
    })
  else await seeder.submit(ann, `/${full}/issues/${number}/lock`, { reason: 'Resolved' })
}

async function seedFork({ seeder, path, bob, undo }: Seed) {
  await seeder.call('POST', `${path}/forks`, { as: bob, body: {} })
  undo.push(() => seeder.call('DELETE', `/repos/${bob}/widgets`))
  return { owner: bob, name: 'widgets' }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Pull requests that were merged in every way, closed, and opened from a fork; with reviews of every state. */
async function seedPulls(
  seed: Seed,
  fork: { owner: string; name: string },
): Promise<DeepScene['pulls']> {
  const { seeder, path, full, team, ann, bob } = seed
  const addFile = (repository: string, as: string, name: string, branches: object) =>
    seeder.call('POST', `/repos/${repository}/contents/${name}`, {
      as,
      body: { content: base64(`${name}\none\ntwo\nthree\n`), message: `Add ${name}`, ...branches },
    })
  const commitTwice = async (repository: string, as: string, from: string, branch: string) => {
    await addFile(repository, as, `${branch}-1.txt`, { branch: from, new_branch: branch })
    await addFile(repository, as, `${branch}-2.txt`, { branch })
  }
  const open = async (base: string, branch: string, owner?: string) => {
    await commitTwice(owner ? `${owner}/${fork.name}` : full, owner ?? ann, base, branch)
    const head = owner ? `${owner}:${branch}` : branch
    const body = { head, base, title: `Take ${branch}`, body: `from ${branch}` }
    return seeder.call<{ number: number }>('POST', `${path}/pulls`, { as: owner ?? ann, body })
  }
  const merge = (number: number, style: Style) =>
    seeder.callUntilDone('POST', `${path}/pulls/${number}/merge`, {
      as: ann,
      // Gitea 1.15 has no default message for `rebase-merge`.
      body: { Do: style, do: style, MergeTitleField: `Take #${number} by ${style}` },
    })
  // The branch main is protected.
  for (const branch of ['next', 'short-lived'])
    await addFile(full, ann, `${branch}.txt`, { branch: 'main', new_branch: branch })
  const pulls: Partial<DeepScene['pulls']> = {}
  for (const style of STYLES) {
    pulls[style] = (await open('next', `by-${style}`)).number
    await merge(pulls[style], style)
  }
  pulls.baseDeleted = (await open('short-lived', 'to-short-lived')).number
  await merge(pulls.baseDeleted, 'merge')
  await seeder.call('DELETE', `${path}/branches/short-lived`, { as: ann })
  pulls.closed = (await open('next', 'unwanted')).number
  await seeder.call('PATCH', `${path}/pulls/${pulls.closed}`, {
    as: ann,
    body: { state: 'closed' },
  })
  pulls.fromFork = (await open('main', 'from-afar', fork.owner)).number
  await seeder.attach(full, { issue: pulls.fromFork }, [{ name: 'shot.png', bytes: PICTURE }], {
    as: bob,
    text: ([shot]) => `It looks so: <img src="${shot}">`,
  })
  pulls.reviewed = (await open('main', 'reviewed')).number
  const reviews = `${path}/pulls/${pulls.reviewed}/reviews`
  const file = 'reviewed-1.txt'
  for (const [as, event, body, comments] of [
    [bob, 'REQUEST_CHANGES', 'not like this', [{ path: file, body: 'here', new_position: 2 }]],
    [ann, 'COMMENT', 'a remark', [{ path: file, body: 'and here', new_position: 3 }]],
    [bob, 'APPROVED', 'now it is fine', []],
    [bob, 'PENDING', 'a draft', [{ path: file, body: 'not sent', new_position: 1 }]],
  ] as const)
    await seeder.call('POST', reviews, { as, body: { event, body, comments } })
  await seeder.call('POST', `${path}/pulls/${pulls.reviewed}/requested_reviewers`, {
    as: ann,
    body: { team_reviewers: ['core-team'] },
  })
  await seeder.call('PATCH', `${path}/pulls/${pulls.reviewed}`, {
    as: ann,
    body: {
      assignees: [bob],
      labels: [seed.label.id],
      milestone: seed.milestone.id,
      due_date: day(20),
    },
  })
  await seeder.call('PUT', `/teams/${team.id}/repos/${full}`, { as: ann })
  return pulls as DeepScene['pulls']
}

/** A wiki, an LFS object, and a release with files. */
async function seedFiles({ seeder, path, full, ann, impossible }: Seed): Promise<void> {
  // The first page creates the wiki's repository, which then accepts a push.
  const [title, content] = ['Home', '# Widgets\n\nSee [[Parts]].\n']
  if (await seeder.knows('POST /repos/{owner}/{repo}/wiki/new'))
    await seeder.call('POST', `${path}/wiki/new`, {
      as: ann,
      body: { title, content_base64: base64(content) },
    })
  else await seeder.submit(ann, `/${full}/wiki/_new`, { title, content })
  const parts = { 'Parts.md': 'All the parts.\n' }
  await seeder.push(`${full}.wiki`, parts, { as: ann, branch: 'master' })
  const pointer = await seeder.uploadLfs(full, LFS_OBJECT, ann)
  if (pointer)
    await seeder.push(
      full,
      { '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n', 'data.bin': pointer },
      { as: ann, branch: 'main' },
    )
  else impossible.push('LFS objects')
  const release = await seeder.call<{ id: number }>('POST', `${path}/releases`, {
    as: ann,
    body: { tag_name: 'v1.1', target_commitish: 'main', name: 'One more', body: `since #1` },
  })
  for (const file of [
    { name: 'pic ü.png', bytes: PICTURE },
    { name: 'tool.zip', bytes: Buffer.from('504b0506'.padEnd(44, '0'), 'hex') },
  ])
    await seeder.call(
      'POST',
      `${path}/releases/${release.id}/assets?name=${encodeURIComponent(file.name)}`,
      { as: ann, file },
    )
}

/** Repositories that are private, archived, a template, renamed, and a mirror. */
async function seedRepositories(seed: Seed, target: Target) {
  const { seeder, organization: owner, ann, undo } = seed
  const add = async (name: string, settings: object, options: object = {}) => {
    await seeder.call('POST', `/orgs/${owner}/repos`, {
      as: ann,
      body: { name, auto_init: true, readme: 'Default', default_branch: 'main', ...options },
    })
    const path = `/repos/${owner}/${name}`
    const final = { ...{ name }, ...settings }.name
    undo.push(() => seeder.call('DELETE', `/repos/${owner}/${final}`))
    await seeder.call('POST', `${path}/issues`, { as: ann, body: { title: `about ${name}` } })
    if (Object.keys(settings).length > 0)
      await seeder.call('PATCH', path, { as: ann, body: { ...settings } })
    return { owner, name: final }
  }
  const secret = await add('secret', { website: 'https://secret.example.com/' }, { private: true })
  const mirror = { owner, name: 'mirror' }
  await seeder.call('POST', '/repos/migrate', {
    body: {
      ...{ clone_addr: `${target.url}/${owner}/widgets.git`, auth_token: target.token },
      ...{ repo_owner: owner, repo_name: mirror.name, mirror: true, service: 'git' },
    },
  })
  undo.push(() => seeder.call('DELETE', `/repos/${owner}/${mirror.name}`))
  return {
    ...{ widgets: seed.repository, secret, mirror },
    attic: await add('attic', { archived: true }),
    starter: await add('starter', { template: true }),
    renamed: await add('before', { name: 'after' }),
  }
}

async function seedRenamedAccount(seed: Seed): Promise<string> {
  const { seeder, path, issue, undo } = seed
  const login = await seeder.addUser('dot')
  const dora = `${seeder.prefix}-dora`
  undo.unshift(() => seeder.call('DELETE', `/admin/users/${dora}`))
  const body = { body: 'written before I had another name' }
  await seeder.call('POST', `${path}/issues/${issue}/comments`, { as: login, body })
  await seeder.call('POST', `${path}/issues`, { as: login, body: { title: 'by dot' } })
  if (await seeder.knows('POST /admin/users/{username}/rename'))
    await seeder.call('POST', `/admin/users/${login}/rename`, { body: { new_username: dora } })
  else
    await seeder.submit(login, '/user/settings', {
      name: dora,
      full_name: 'Dora',
      language: 'en-US',
    })
  return dora
}
