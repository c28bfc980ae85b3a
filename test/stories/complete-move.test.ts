import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type CommandLine, commandLine } from '../support/command-line.ts'
import { type DeepScene, seedDeeply } from '../support/forge/deep-seed.ts'
import { startForge } from '../support/forge/fake-forge.ts'
import { type Dialect, GITEA_1_15, GITEA_1_22 } from '../support/forge/render.ts'
import { writeRestoreProgram } from '../support/forge/restore-dump.ts'
import { GITEA, giteaServer, restoreAll } from '../support/gitea-server.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { needsCurl } from '../wire/curl-client.ts'

/** A server that repositories are moved from, or to. */
interface Host {
  url: string
  token: string
  tokenFile: string
  repositories: string
  lfs: string
  /** The program that restores dumps. */
  program: string
  env: NodeJS.ProcessEnv
  /** Whether the API lists all files of issues and comments. */
  listsAttachments: boolean
}

async function realHost(t: TestContext): Promise<Host> {
  const server = await giteaServer(temporaryDirectory(t))
  t.after(server.stop)
  return {
    ...server,
    url: server.url.replace(/\/$/, ''),
    token: await readFile(server.tokenFile, 'utf8'),
    listsAttachments: server.version >= 119,
  }
}

async function fakeHost(t: TestContext, dialect: Dialect): Promise<Host> {
  const directory = temporaryDirectory(t)
  const [repositories, lfs] = [join(directory, 'repositories'), join(directory, 'lfs')]
  const [program, tokenFile] = [join(directory, 'gitea'), join(directory, 'token')]
  for (const each of [repositories, lfs]) await mkdir(each)
  const { url, stop } = await startForge({ dialect, directory })
  t.after(stop)
  const token = 'admin-token'
  await writeFile(tokenFile, token, { mode: 0o600 })
  writeRestoreProgram(program, { url, token, version: dialect.version })
  return {
    ...{ url, token, tokenFile, repositories, lfs, program, env: process.env },
    listsAttachments: dialect.isNew,
  }
}

/** Moves everything of the deep seed from one host to another, and compares. */
async function moveEverything(t: TestContext, from: Host, to: Host): Promise<void> {
  const scene = await seedDeeply(from)
  await addOwners(to, scene)
  const { godwit, folder } = await commandLine(t)
  const run = async (...args: string[]) => {
    const result = await godwit(args)
    assert.equal(result.code, 0, `${args.join(' ')}\n${result.output}`)
    return result.output
  }
  const [archive, dumps, people] = ['move.tar.gz', 'dumps', 'people.csv'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  const lines = [scene.ann, scene.bob, scene.dora].map((login) => `${login},${login}\n`)
  await writeFile(people, `old-login,new-login\n${lines.join('')}`)
  await run(
    ...['export', scene.organization, scene.bob, '--output', archive],
    ...['--repositories', from.repositories, '--lfs-directory', from.lfs],
    ...['--forge', from.url, '--forge-token-file', from.tokenFile],
    ...['--web-url', `${from.url}/{owner}/{name}`],
  )
  await run('verify', archive)
  const conversion = ['--to', 'gitea-dump', '--output', dumps, '--people', people]
  await run('convert', archive, ...conversion, '--forge', `${to.url}/`)
  await restoreAll(dumps, { ...to, url: `${to.url}/` })
  const target = ['--forge', to.url, '--token-file', to.tokenFile, '--people', people]
  await run('finish', dumps, ...target)
  const again = await run('finish', dumps, ...target)
  assert.match(again, /nothing to do: everything is there/)
  const comparison = ['compare', archive, ...target, '--finished']
  const compared = await godwit([...comparison, '--json'])
  assert.equal(compared.code, 0, compared.output)
  assertComplete(JSON.parse(compared.stdout.toString()), scene, from)
  await assertLossIsSeen(godwit, comparison, scene, to)
}

type Counts = Record<'equal' | 'changed' | 'missing' | 'extra' | 'known', number>

interface Comparison {
  totals: Counts
  repositories: { left: string; kinds: Record<string, Counts> }[]
}

/** Asserts that nothing is missing or changed, and that the comparison saw everything of the seed. */
function assertComplete(
  { totals, repositories }: Comparison,
  { organization, bob }: DeepScene,
  { listsAttachments }: Host,
): void {
  const { changed, missing, extra } = totals
  assert.deepEqual({ changed, missing, extra }, { changed: 0, missing: 0, extra: 0 })
  assert.deepEqual(
    repositories.map(({ left }) => left).sort(),
    [
      `${bob}/widgets`,
      ...['after', 'attic', 'mirror', 'secret', 'starter', 'widgets'].map(
        (name) => `${organization}/${name}`,
      ),
    ].sort(),
  )
  const widgets = repositories.find(({ left }) => left === `${organization}/widgets`)!
  const seen = Object.keys(SEEN).map((kind) => {
    const { equal = 0, known = 0 } = widgets.kinds[kind] ?? {}
    return [kind, equal + known]
  })
  // An old server lists only the files that a text links to.
  const files = listsAttachments ? SEEN.attachments + 2 : SEEN.attachments
  assert.deepEqual(Object.fromEntries(seen), { ...SEEN, attachments: files })
}

/** How much of each kind the repository `widgets` has. */
const SEEN = {
  ...{ repositories: 1, tags: 2, wiki: 1, lfs_objects: 1, labels: 2, milestones: 3 },
  ...{ issues: 205, issue_comments: 4, pull_requests: 10, pull_request_reviews: 6 },
  ...{ pull_request_review_comments: 3, releases: 3, release_assets: 3, protected_branches: 1 },
  attachments: 3,
}

/** Deletes a comment on the new host, and asserts that a comparison names it. */
async function assertLossIsSeen(
  godwit: CommandLine['godwit'],
  comparison: string[],
  { path, issue }: DeepScene,
  { url, token }: Host,
): Promise<void> {
  const headers = { authorization: `token ${token}` }
  const comments = await fetch(`${url}/api/v1${path}/issues/${issue}/comments`, { headers })
  const [comment] = (await comments.json()) as { id: number }[]
  const address = `${url}/api/v1${path}/issues/comments/${comment?.id}`
  assert.equal((await fetch(address, { method: 'DELETE', headers })).status, 204)
  const { code, output } = await godwit(comparison)
  assert.equal(code, 1, output)
  assert.match(output, /missing: issue_comments #1/)
}

/** The owners must exist before a restore; teams are matched by their names. */
async function addOwners({ url, token }: Host, scene: DeepScene): Promise<void> {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `token ${token}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${url}/api/v1${path}`, request)
    assert.equal(response.status, 201, `${path}: ${await response.text()}`)
  }
  for (const username of [scene.ann, scene.bob, scene.dora])
    await post('/admin/users', {
      ...{ username, email: `${username}@example.com`, must_change_password: false },
      password: `Aa1-${crypto.randomUUID()}`,
    })
  await post(`/admin/users/${scene.ann}/orgs`, { username: scene.organization })
  await post(`/orgs/${scene.organization}/teams`, {
    ...{ name: 'core-team', permission: 'write', includes_all_repositories: false },
    units: ['repo.code', 'repo.issues', 'repo.pulls', 'repo.releases'],
  })
}

// One round for two versions: each takes half a minute.
test(
  'everything of an old forge arrives on a new one, and a comparison proves it',
  needsCurl(),
  async (t) => {
    await moveEverything(t, await fakeHost(t, GITEA_1_15), await fakeHost(t, GITEA_1_22))
  },
)

test('everything arrives from one real server on another', GITEA.needed, async (t) => {
  await moveEverything(t, await realHost(t), await realHost(t))
})
