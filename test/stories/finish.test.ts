import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  finishedState,
  finishScene,
  LFS_OID,
  LFS_TEXT,
  startFinishScene,
  TOKEN,
} from '../support/finish-scene.ts'
import { FORGEJO_11, GITEA_1_15 } from '../support/forge/render.ts'
import { GITEA, giteaServer } from '../support/gitea-server.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

test('finish brings everything that restore-repo does not restore, and does nothing twice', async (t) => {
  const { forge, finish, dumps } = await startFinishScene(t)
  const before = JSON.stringify(finishedState(forge))
  const planned = await finish('--dry-run')
  assert.equal(planned.code, 0, planned.output)
  assert.equal(JSON.stringify(finishedState(forge)), before)

  const first = await finish()
  assert.equal(first.code, 0, first.output)
  const count = (text: string) => (text.match(/^[a-z]+\/?[a-z]*: /gm) ?? []).length
  assert.ok(count(planned.output) > 20, planned.output)
  assert.deepEqual(first.output.match(/^left out: .*$/gm), [
    'left out: carol has no account nobody on the server',
    'left out: zoe is not in the people file (4 times)',
  ])
  const state = finishedState(forge)
  const [site, , quiet] = state.repositories
  assert.deepEqual(
    { ...site!, issues: undefined, releases: site!.releases[0] },
    {
      ...{ name: 'anna/site', isPrivate: false, isArchived: true, isTemplate: true },
      ...{ website: 'https://birds.example.com', topics: ['birds'], lfs: [LFS_OID] },
      collaborators: [['bob', 'write']],
      protections: [
        ['main', 2, ['bob']],
        ['release/*', 2, ['bob']],
      ],
      issues: undefined,
      releases: {
        tag: 'v1',
        body: 'Notes ![x](new:notes.txt)',
        files: ['notes.txt: of a release'],
      },
    },
  )
  const [one, two, three] = site!.issues
  assert.deepEqual(one, {
    ...{ number: 1, isLocked: true, assignees: [], due: '2031-05-06', pinOrder: 2 },
    body: '![x](new:shot ü.txt) and `https://old.example.com/attachments/00000001-0000-4000-8000-000000000000`',
    ...{ files: ['shot ü.txt: of an issue'], dependencies: [], comments: one!.comments },
  })
  assert.equal(two!.body, 'See ![x](new:shot ü.txt), please.')
  assert.deepEqual([two!.assignees, two!.dependencies, two!.pinOrder], [['bob'], [1], 1])
  assert.deepEqual(
    two!.comments.map(({ files }) => files),
    [['unlinked.txt: not linked'], ['same.txt: same', 'same.txt: same']],
  )
  assert.match(two!.comments[1]!.body, /!\[x\]\(new:same.txt\)!\[x\]\(new:same.txt\)$/)
  const line = three!.comments.find(({ files }) => files.length > 0)
  assert.deepEqual(
    [line?.type, line?.body, line?.files],
    ['code', 'Comment 31 ![x](new:line.txt)', ['line.txt: on a line']],
  )
  assert.equal(quiet!.isPrivate, true)
  assert.deepEqual(state.teams[1], {
    ...{ name: 'birders', permission: 'write', units: ['repo.code'] },
    ...{ members: ['bob'], repositories: ['quiet'] },
  })

  const second = await finish('--json')
  assert.equal(second.code, 0, second.output)
  assert.deepEqual(JSON.parse(second.stdout.toString()).done, {})
  assert.deepEqual(finishedState(forge), state)
  const journal = await readFile(join(dumps, 'finish.journal'), 'utf8')
  for (const text of [planned.output, first.output, second.output, journal])
    assert.ok(!text.includes(TOKEN) && !text.includes(Buffer.from(TOKEN).toString('base64')))
})

test('finish leaves out an account that was renamed on the server, and does everything else', async (t) => {
  const { forge, finish } = await startFinishScene(t)
  forge.world.rename(forge.world.addUser('nobody'), 'somebody')
  const { code, output } = await finish()
  assert.equal(code, 0, output)
  assert.match(output, /^left out: carol has no account nobody on the server$/m)
  assert.equal(finishedState(forge).repositories[0]!.isArchived, true)
})

test('finish finds uploaded attachments without its journal', async (t) => {
  const { forge, finish, dumps } = await startFinishScene(t)
  assert.equal((await finish()).code, 0)
  const state = finishedState(forge)
  await writeFile(join(dumps, 'finish.journal'), '{"step":"trunca')
  const again = await finish()
  assert.equal(again.code, 0, again.output)
  assert.match(again.output, /nothing to do/)
  assert.deepEqual(finishedState(forge), state)
})

test('finish names each thing that an old version cannot do once', async (t) => {
  const { forge, finish } = await startFinishScene(t, { dialect: GITEA_1_15 })
  const { code, output } = await finish()
  assert.equal(code, 0, output)
  assert.deepEqual(
    output.match(/^left out: Gitea .*$/gm)?.map((line) => line.replace(/Gitea \S+/, 'Gitea')),
    [
      'left out: Gitea cannot attach files to issues over its API',
      'left out: Gitea cannot attach files to comments over its API (4 times)',
      'left out: Gitea cannot set dependencies between issues over its API',
      'left out: Gitea cannot pin issues over its API (2 times)',
      'left out: Gitea cannot protect branches by a pattern over its API',
    ],
  )
  const [site] = finishedState(forge).repositories
  assert.deepEqual([site!.isArchived, site!.lfs], [true, [LFS_OID]])
})

test('finish keeps the times on a Forgejo, with another owner and another people file', async (t) => {
  const { forge, finish, folder } = await startFinishScene(t, { dialect: FORGEJO_11 })
  const { world } = forge
  const anna = world.users.get('anna')!
  world.rename(anna, 'team')
  world.redirects.clear()
  const issues = [...world.findRepository('team', 'site')!.issues.values()]
  const times = () => issues.map(({ updated, comments }) => [updated, comments[0]?.updated])
  const before = times()
  const people = join(folder, 'others.csv')
  await writeFile(people, 'zoe,bob\n')
  const { code, output } = await finish(
    ...['--owner', 'team', '--include', 'alice/site', '--people', people],
  )
  assert.equal(code, 0, output)
  assert.deepEqual(times(), before)
  assert.equal(issues[1]!.assignees.length, 0)
  assert.deepEqual(issues[1]!.dependencies, [issues[0]])
  const { collaborators, protections } = world.findRepository('team', 'site')!
  assert.deepEqual([...collaborators.values()], ['admin'])
  assert.deepEqual(protections[0]!.push_whitelist_usernames, ['bob'])
})

test('finish uploads nothing twice if the response to an upload is lost', async (t) => {
  const { forge, finish } = await startFinishScene(t)
  const lost = new Set<string>()
  forge.faultFor = ({ path, headers }) => {
    if (!path.endsWith('/assets') || !headers['content-length'] || lost.has(path)) return undefined
    lost.add(path)
    return { change: () => ({ status: 502, body: {} }) }
  }
  const { code, output } = await finish('--include', 'alice/site')
  assert.equal(code, 0, output)
  assert.equal(lost.size, 5)
  const [site] = finishedState(forge).repositories
  const holders = [...site!.issues, ...site!.issues.flatMap(({ comments }) => comments)]
  assert.deepEqual([...holders, ...site!.releases].flatMap(({ files }) => files).sort(), [
    ...['line.txt: on a line', 'notes.txt: of a release', 'same.txt: same', 'same.txt: same'],
    ...['shot ü.txt: of an issue', 'unlinked.txt: not linked'],
  ])
})

test('finish continues after refused steps, names them, and tries them again in the next run', async (t) => {
  const { forge, finish, dumps } = await startFinishScene(t)
  let batches = 0
  const object = { oid: LFS_OID, size: LFS_TEXT.length, actions: { upload: { href: 'nowhere' } } }
  forge.faultFor = ({ path, headers }) => {
    if (/\/issues\/1\/assets$/.test(path) && headers['content-length'])
      return {
        response: { status: 413, body: { message: 'too large', url: 'http://x/api/swagger' } },
      }
    // The first asks what the server lacks.
    const isUpload = path.endsWith('/info/lfs/objects/batch') && ++batches === 2
    return isUpload ? { response: { status: 200, body: { objects: [object] } } } : undefined
  }
  await writeFile(join(dumps, 'alice/site/attachments/4/unlinked.txt'), 'damaged!!!')
  const refused = await finish()
  assert.equal(refused.code, 1, refused.output)
  assert.match(refused.output, /failed: anna\/site: upload shot .* to #1: .* status 413: too large/)
  assert.match(refused.output, /failed: .*unlinked\.txt.* is damaged \(SHA-256\)/)
  assert.match(refused.output, /failed: .*LFS object .*: the server named no valid address/)
  assert.match(refused.output, /3 steps failed; the same command tries again/)
  forge.faultFor = () => undefined
  await writeFile(join(dumps, 'alice/site/attachments/4/unlinked.txt'), 'not linked')
  const second = await finish()
  assert.equal(second.code, 0, second.output)
  const [site] = finishedState(forge).repositories
  assert.deepEqual([site!.issues[0]!.files.length, site!.isArchived], [1, true])
})

test('finish exposes nothing in a public repository, and gives no team more access than before', async (t) => {
  const { forge, finish } = await startFinishScene(t)
  forge.faultFor = ({ path, headers }) =>
    /\/repos\/corp\/quiet$/.test(path) && headers['content-length']
      ? { response: { status: 403, body: { message: 'not now', url: 'http://x/api/swagger' } } }
      : undefined
  const refused = await finish('--include', 'corp/quiet')
  assert.equal(refused.code, 1, refused.output)
  assert.match(refused.output, /^failed: corp\/quiet: make it private: .* status 403: not now/m)
  assert.equal(finishedState(forge).teams.length, 1)

  forge.faultFor = () => undefined
  const { world } = forge
  world.addTeam(world.users.get('corp')!, 'birders', 'admin', []).repositories = new Set()
  const { code, output } = await finish('--include', 'corp/quiet')
  assert.equal(code, 0, output)
  assert.match(output, /^left out: corp\/quiet: the team birders has more than .* write$/m)
  assert.deepEqual(finishedState(forge).teams[1]!.repositories, [])
})

test('finish does not overlook a repository whose name begins with a dot', async (t) => {
  const { finish, dumps } = await startFinishScene(t)
  const folder = join(dumps, 'corp', '.github')
  await cp(join(dumps, 'corp', 'quiet'), folder, { recursive: true })
  const file = join(folder, 'finish.json')
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll('"quiet"', '".github"'))
  const { code, output } = await finish('--include', 'corp/.github')
  assert.equal(code, 1)
  assert.match(output, /^failed: corp\/\.github is not on .*: run restore\.sh first$/m)
})

test('finish refuses wrong arguments, tokens and directories, and changes nothing', async (t) => {
  const { forge, folder, dumps, godwit } = await startFinishScene(t)
  const before = JSON.stringify(finishedState(forge))
  const wrong = join(folder, 'wrong')
  await writeFile(wrong, 'other-secret')
  const run = async (dump: string, url: string, ...more: string[]) => {
    const result = await godwit(['finish', dump, '--forge', url, '--token-file', wrong, ...more])
    assert.ok(!result.output.includes('other-secret'), result.output)
    return [result.code, result.stderr.trim()]
  }
  assert.deepEqual(await run(dumps, forge.url), [
    3,
    `godwit: ${forge.url} does not accept the token`,
  ])
  assert.deepEqual(await run(dumps, 'ftp://x'), [
    2,
    'godwit: --forge: the URL of a forge begins with https:// or http://: ftp://x',
  ])
  assert.match(String(await run(folder, forge.url)), /^1,godwit: .* has no dumps/)
  assert.match(String(await run(join(folder, 'nothing'), forge.url)), /^2,.* is not a directory/)
  assert.match(String(await run(dumps, forge.url, '--include', 'a/b')), /^1,.*a\/b is not in/)
  assert.match(String(await run(dumps, 'http://127.0.0.1:9')), /^4,.*nothing responds/)
  assert.equal(JSON.stringify(finishedState(forge)), before)
})

test('restore.sh --finish finishes the move on a real server', GITEA.needed, async (t) => {
  const server = await giteaServer(temporaryDirectory(t))
  t.after(() => server.stop())
  for (const name of ['anna', 'bob']) await server.addUser(name)
  await server.api('/orgs', { username: 'corp' })
  const { dumps, finish } = await finishScene(t, server)
  const restored = spawnSync('sh', [join(dumps, 'restore.sh'), '--finish'], {
    env: {
      ...{ ...server.env, GITEA: server.program, GITEA_URL: server.url },
      ...{
        GITEA_TOKEN_FILE: server.tokenFile,
        GODWIT: join(import.meta.dirname, '../../bin/godwit'),
      },
    },
    encoding: 'utf8',
  })
  assert.equal(restored.status, 0, restored.stdout + restored.stderr)
  const site = '/repos/anna/site'
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the API, which differs by version.
  const api = (path: string) => server.api<any>(path)
  const { archived, template, website } = await api(site)
  assert.deepEqual([archived, template, website], [true, true, 'https://birds.example.com'])
  const [one, two] = [await api(`${site}/issues/1`), await api(`${site}/issues/2`)]
  assert.deepEqual(
    [one.due_date.slice(0, 10), two.assignees.map(({ login }: { login: string }) => login)],
    ['2031-05-06', ['bob']],
  )
  const [rule] = await api(`${site}/branch_protections`)
  assert.deepEqual([rule.branch_name, rule.required_approvals], ['main', 2])
  assert.deepEqual(rule.push_whitelist_usernames, ['bob'])
  const release = (await api(`${site}/releases`)).find(
    ({ tag_name }: { tag_name: string }) => tag_name === 'v1',
  )
  const notes = release.assets.find(({ name }: { name: string }) => name === 'notes.txt')
  assert.equal(release.body, `Notes ![x](${notes.browser_download_url})`)
  assert.equal(await server.bytes(notes.browser_download_url), 'of a release')
  const object = `${server.url}anna/site.git/info/lfs/objects/${LFS_OID}`
  assert.equal(await server.bytes(object), LFS_TEXT)
  const teams = await api('/repos/corp/quiet/teams')
  assert.ok(teams.some(({ name }: { name: string }) => name === 'birders'))
  assert.equal((await api('/repos/corp/quiet')).private, true)
  if (server.version >= 120) {
    assert.match(one.body, new RegExp(`^!\\[x\\]\\(${server.url}attachments/`))
    assert.deepEqual([one.pin_order, two.pin_order], [2, 1])
  }
  assert.match((await finish()).output, /nothing to do/)
})
