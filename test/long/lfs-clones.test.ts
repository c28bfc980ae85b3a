import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cloneScene } from '../support/clone-scene.ts'
import type { GitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { until } from '../support/wait-until.ts'

function isGitLfsInstalled(): boolean {
  try {
    execFileSync('git', ['lfs', 'version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const needsGitLfs = skipUnless(isGitLfsInstalled(), 'git-lfs is not installed')

const LFS_TYPE = 'application/vnd.git-lfs+json'
const ATTRIBUTES = '*.bin filter=lfs diff=lfs merge=lfs -text\n'
/** Several chunks long. */
const LARGE = randomBytes(1_000_000).toString('hex')

const oidOf = (content: string) => createHash('sha256').update(content).digest('hex')
const pointerFile = (content: string, ending = '\n') =>
  ['version https://git-lfs.github.com/spec/v1', `oid sha256:${oidOf(content)}`]
    .concat(`size ${content.length}`, '')
    .join(ending)
const filesOf = (...contents: string[]) => ({
  '.gitattributes': ATTRIBUTES,
  ...Object.fromEntries(contents.map((content, nth) => [`${nth}.bin`, pointerFile(content)])),
})

async function put(folder: string, content: string, name = oidOf(content)): Promise<string> {
  const oid = oidOf(content)
  const path = join(folder, oid.slice(0, 2), oid.slice(2, 4), name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
  return path
}

interface Entry {
  oid: string
  size: number
  authenticated?: boolean
  actions?: { download: { href: string } }
  error?: { code: number; message: string }
}

async function lfsScene(
  t: TestContext,
  fill: (host: GitHost, shared: string) => Promise<unknown>,
  options: Parameters<typeof cloneScene>[2] = {},
) {
  const shared = temporaryDirectory(t)
  const scene = await cloneScene(t, (host) => fill(host, shared), {
    ...options,
    lfsDirectory: shared,
  })
  const { url } = scene
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/${path}.git/info/lfs/objects/batch`, {
      method: 'POST',
      headers: { accept: LFS_TYPE, 'content-type': `${LFS_TYPE}; charset=utf-8`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    assert.equal(response.headers.get('content-type'), `${LFS_TYPE}; charset=utf-8`)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const basic = (token?: string): Record<string, string> =>
    token === undefined ? {} : { authorization: `Basic ${btoa(`x:${token}`)}` }
  return {
    ...scene,
    shared,
    post,
    basic,
    /** Returns the entries of a batch. */
    async batch(path: string, objects: { oid: string; size: number }[], token?: string) {
      const { status, body } = await post(path, { operation: 'download', objects }, basic(token))
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual([body.transfer, body.hash_algo], ['basic', 'sha256'])
      return body.objects as Entry[]
    },
    get: (path: string, oid: string, headers: Record<string, string> = {}) =>
      fetch(`${url}/${path}.git/info/lfs/objects/${oid}`, { headers }),
    async run(...args: string[]): Promise<string> {
      const { code, output } = await scene.git(...args)
      assert.equal(code, 0, `git ${args.join(' ')}: ${output}`)
      return output
    },
    contentOf: (path: string) => readFile(join(scene.work, path), 'utf8'),
  }
}

const batchObject = (content: string) => ({ oid: oidOf(content), size: content.length })

test('git-lfs clones from every layout, and checks out older commits', needsGitLfs, async (t) => {
  const scene = await lfsScene(t, async (host, shared) => {
    const own = await host.repository('alice/own', { files: filesOf(LARGE), public: true })
    await put(join(own, 'lfs/objects'), LARGE)
    const config = { 'lfs.storage': 'large/files' }
    const stored = await host.repository('alice/stored', { files: filesOf('stored'), config })
    await put(join(stored, 'large/files/objects'), 'stored')
    const old = await host.repository('alice/shared', { files: filesOf('old', 'other') })
    await host.commit(old, filesOf('new', 'other'))
    await put(shared, 'old')
    // In this layout the file name lacks the first four digits, which are the names of its directories.
    await put(shared, 'new', oidOf('new').slice(4))
    await put(shared, 'other')
    const wiki = await host.repository('alice/shared.wiki', { files: filesOf('wiki') })
    await put(join(wiki, 'lfs/objects'), 'wiki')
  })
  const { run, cloneUrl, contentOf, call } = scene
  await run('lfs', 'install', '--skip-repo')
  const token = await scene.token('alice')
  await run('clone', '--quiet', cloneUrl('alice/own'), 'own')
  assert.equal(await contentOf('own/0.bin'), LARGE)
  await run('clone', '--quiet', cloneUrl('alice/stored.git', token), 'stored')
  assert.equal(await contentOf('stored/0.bin'), 'stored')
  await run('clone', '--quiet', cloneUrl('alice/shared.wiki.git', token), 'wiki')
  assert.equal(await contentOf('wiki/0.bin'), 'wiki')

  const repository = await (await call(token, '/repos/alice/shared')).json()
  const { temp_clone_token: cloneToken } = repository as { temp_clone_token: string }
  for (const [directory, password] of [
    ['shared', token],
    ['temporary', cloneToken],
  ] as const) {
    await run('clone', '--quiet', cloneUrl('alice/shared.git', password), directory)
    assert.equal(await contentOf(`${directory}/0.bin`), 'new')
    assert.equal(await contentOf(`${directory}/1.bin`), 'other')
    await run('-C', directory, 'checkout', '--quiet', 'HEAD~1')
    assert.equal(await contentOf(`${directory}/0.bin`), 'old')
    await run('-C', directory, 'lfs', 'fetch', '--all')
  }
  const header = `http.extraHeader=Authorization: Basic ${btoa(`x:${token}`)}`
  await run('-c', header, 'clone', '--quiet', cloneUrl('alice/shared'), 'header')
  assert.equal(await contentOf('header/0.bin'), 'new')
  assert.ok(!scene.log().includes(token) && !scene.log().includes(cloneToken))
  const metrics = await (await fetch(`${scene.url}/metrics`)).text()
  assert.ok(!/clone_requests_total\{outcome="failed"\} [1-9]/.test(metrics), metrics)
})

test('git-lfs is refused with a wrong token, and for uploads and locks', needsGitLfs, async (t) => {
  const { run, git, cloneUrl, token } = await lfsScene(t, async (host) => {
    const dir = await host.repository('alice/site', { files: filesOf('one') })
    await put(join(dir, 'lfs/objects'), 'one')
  })
  await run('lfs', 'install', '--skip-repo')
  const skip = [
    '-c',
    'filter.lfs.smudge=',
    '-c',
    'filter.lfs.process=',
    '-c',
    'filter.lfs.required=0',
  ]
  const address = cloneUrl('alice/site.git', await token('alice'))
  await run(...skip, 'clone', '--quiet', address, 'mine')
  await run('-C', 'mine', 'remote', 'set-url', 'origin', cloneUrl('alice/site.git', 'wrong'))
  const wrong = await git('-C', 'mine', 'lfs', 'pull')
  assert.equal(wrong.code, 2, wrong.output)
  assert.match(wrong.output, /Authentication required|Authorization error|Bad credentials/)
  await run('-C', 'mine', 'remote', 'set-url', 'origin', address)
  await run('-C', 'mine', 'lfs', 'pull')

  const pushed = await git('-C', 'mine', 'lfs', 'push', '--all', 'origin')
  assert.equal(pushed.code, 2, pushed.output)
  assert.match(pushed.output, /for cloning and fetching only\. It does not accept LFS objects\./)
  const refused = await git('-C', 'mine', 'push', 'origin', 'HEAD:refs/heads/other')
  assert.match(refused.output, /for cloning and fetching only\. It does not accept pushes\./)
  const locked = await git('-C', 'mine', 'lfs', 'lock', '0.bin')
  assert.equal(locked.code, 2, locked.output)
  assert.match(locked.output, /Locks are not supported/)
})

test(
  'git-lfs resumes a download, and names missing and damaged objects',
  needsGitLfs,
  async (t) => {
    let damagedFile = ''
    const { run, git, cloneUrl, work, start, contentOf, log } = await lfsScene(t, async (host) => {
      const dir = await host.repository('alice/site', { files: filesOf(LARGE), public: true })
      await put(join(dir, 'lfs/objects'), LARGE)
      await host.repository('alice/missing', { files: filesOf('missing'), public: true })
      const damaged = await host.repository('alice/damaged', {
        files: filesOf(LARGE.toUpperCase()),
        public: true,
      })
      damagedFile = await put(join(damaged, 'lfs/objects'), LARGE.toUpperCase())
      await writeFile(damagedFile, `${LARGE.toUpperCase().slice(0, -1)}!`)
    })
    await run('lfs', 'install', '--skip-repo')
    await run('config', '--global', 'lfs.transfer.maxretries', '2')
    await run('config', '--global', 'lfs.transfer.maxretrydelay', '1')
    const skip = { GIT_LFS_SKIP_SMUDGE: '1' }
    assert.equal((await start(['clone', cloneUrl('alice/site.git'), 'site'], skip).ended).code, 0)
    const part = join(work, 'site/.git/lfs/incomplete', `${oidOf(LARGE)}.part`)
    await mkdir(dirname(part), { recursive: true })
    await writeFile(part, LARGE.slice(0, 1_500_000))
    const pulled = await start(['-C', 'site', 'lfs', 'pull'], { GIT_CURL_VERBOSE: '1' }).ended
    assert.equal(pulled.code, 0, pulled.output)
    assert.match(pulled.output, /Range: bytes=1500000-1999999/)
    assert.match(pulled.output, /HTTP\/1\.1 206/)
    assert.equal(await contentOf('site/0.bin'), LARGE)

    const missing = await git('clone', cloneUrl('alice/missing.git'), 'missing')
    assert.equal(missing.code, 128)
    assert.match(
      missing.output,
      new RegExp(`${oidOf('missing')}.*This repository has no such LFS object`, 's'),
    )
    const damaged = await git('clone', cloneUrl('alice/damaged.git'), 'damaged')
    assert.equal(damaged.code, 128)
    assert.match(damaged.output, /is damaged on the server: its content does not match its oid/)
    assert.ok(log().includes('a clone failed'))
  },
)

test('an object is sent in ranges, and never completely if it is damaged', async (t) => {
  let file = ''
  const { get } = await lfsScene(t, async (host) => {
    const dir = await host.repository('alice/site', { files: { a: '1' }, public: true })
    file = await put(join(dir, 'lfs/objects'), LARGE)
    await put(join(dir, 'lfs/objects'), '')
  })
  const oid = oidOf(LARGE)
  const etag = `"${oid}"`
  const whole = await get('alice/site', oid)
  assert.equal(whole.status, 200)
  assert.equal(whole.headers.get('content-type'), 'application/octet-stream')
  assert.equal(whole.headers.get('etag'), etag)
  assert.equal(whole.headers.get('content-length'), '2000000')
  assert.equal(await whole.text(), LARGE)
  const empty = await get('alice/site', oidOf(''))
  assert.deepEqual([empty.status, await empty.text()], [200, ''])
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 1],
    ['bytes=262143-262144', 262_143, 262_145],
    ['bytes=1500000-', 1_500_000, 2_000_000],
    ['bytes=-10', 1_999_990, 2_000_000],
    ['bytes=10-9999999', 10, 2_000_000],
  ] as const) {
    const response = await get('alice/site', oid, { range, 'if-range': etag })
    assert.equal(response.status, 206, range)
    assert.equal(response.headers.get('content-range'), `bytes ${start}-${end - 1}/2000000`)
    assert.equal(await response.text(), LARGE.slice(start, end), range)
  }
  const changed = await get('alice/site', oid, { range: 'bytes=5-', 'if-range': '"other"' })
  assert.deepEqual([changed.status, (await changed.text()).length], [200, LARGE.length])
  const outside = await get('alice/site', oid, { range: 'bytes=2000000-' })
  assert.deepEqual([outside.status, outside.headers.get('content-range')], [416, 'bytes */2000000'])

  await writeFile(file, `!${LARGE.slice(1)}`)
  await assert.rejects((await get('alice/site', oid)).arrayBuffer(), TypeError)
  // A range shorter than a chunk is sent only after the whole object was read and verified.
  for (const range of ['bytes=1999999-', 'bytes=5-9']) {
    const response = await get('alice/site', oid, { range })
    assert.equal(response.status, 404)
    assert.match(((await response.json()) as { message: string }).message, /is damaged/)
  }
})

test('only objects of the repository itself are served', async (t) => {
  const scene = await lfsScene(t, async (host, shared) => {
    const secret = await host.repository('bob/secret', { files: filesOf('secret', 'own of bob') })
    await put(shared, 'secret')
    await put(join(secret, 'lfs/objects'), 'own of bob')
    await host.repository('alice/open', { files: filesOf('open'), public: true })
    await put(shared, 'open')
    // Through alternates, this repository can read the git objects of bob/secret, including its LFS pointers.
    const borrower = await host.repository('alice/borrower', {
      files: filesOf('open'),
      public: true,
    })
    await writeFile(join(borrower, 'objects/info/alternates'), `${secret}/objects\n`)
    const unusual = { '.gitattributes': ATTRIBUTES, 'a.bin': pointerFile('unusual', '\r\n') }
    await host.repository('alice/unusual', { files: unusual, public: true })
    await put(shared, 'unusual')
    const sha256 = { objectFormat: 'sha256', public: true } as const
    await host.repository('alice/new', { ...sha256, files: filesOf('open') })
    const linked = await host.repository('alice/linked', { files: filesOf('linked'), public: true })
    const link = await put(join(linked, 'lfs/objects'), 'linked')
    await unlink(link)
    await symlink(await put(join(host.root, 'elsewhere'), 'linked'), link)
  })
  const { batch, get, token, basic, url } = scene
  const statusOf = async (path: string, content: string, credential?: string) => {
    const [entry] = await batch(path, [batchObject(content)], credential)
    const { status } = await get(path, oidOf(content), basic(credential))
    const expected = entry!.error ? entry!.error.code : 200
    assert.equal(status, expected, `${path}: ${content}`)
    return status
  }
  const alice = await token('alice')
  const bob = await token('bob')
  for (const path of ['alice/open', 'alice/borrower', 'alice/new', 'alice/unusual', 'alice/linked'])
    for (const content of ['secret', 'own of bob', 'linked', 'nowhere'])
      for (const credential of [undefined, alice])
        assert.equal(await statusOf(path, content, credential), 404, `${path}: ${content}`)
  for (const path of ['alice/open', 'alice/borrower', 'alice/new'])
    assert.equal(await statusOf(path, 'open'), 200, path)
  assert.equal(await statusOf('alice/unusual', 'unusual'), 200)
  assert.equal(await statusOf('bob/secret', 'secret', bob), 200)
  assert.equal(await statusOf('bob/secret', 'own of bob', bob), 200)

  const [found] = await batch('alice/open', [batchObject('open')])
  const href = `${url}/alice/open.git/info/lfs/objects/${oidOf('open')}`
  assert.deepEqual(found, {
    ...batchObject('open'),
    authenticated: true,
    actions: { download: { href } },
  })
  assert.equal(await (await fetch(href)).text(), 'open')
  const [withToken] = await batch('alice/open', [batchObject('open')], alice)
  assert.deepEqual(withToken, { ...batchObject('open'), actions: { download: { href } } })
  const [wrongSize] = await batch('alice/open', [{ ...batchObject('open'), size: 5 }])
  assert.deepEqual(wrongSize!.error, { code: 422, message: 'The object has 4 bytes.' })
  const twice = await batch('alice/open', [
    batchObject('open'),
    batchObject('none'),
    batchObject('open'),
  ])
  assert.deepEqual(
    twice.map(({ oid, error }) => [oid, error?.code]),
    [
      [oidOf('open'), undefined],
      [oidOf('none'), 404],
    ],
  )
})

test('batch requests need the permissions of a clone', async (t) => {
  const scene = await lfsScene(t, async (host) => {
    for (const name of ['site', 'other'])
      await host.repository(`alice/${name}`, { files: { a: '1' } })
  })
  const { post, basic, call, token, url } = scene
  const body = { operation: 'download', objects: [batchObject('one')] }
  const statusOf = async (path: string, credential?: string) => {
    const { status } = await post(path, body, basic(credential))
    const object = await scene.get(path, oidOf('one'), basic(credential))
    assert.equal(object.status, status === 200 ? 404 : status)
    return status
  }
  const alice = await token('alice')
  const repository = await (await call(alice, '/repos/alice/site')).json()
  const { temp_clone_token: cloneToken } = repository as { temp_clone_token: string }
  assert.equal(await statusOf('alice/site', alice), 200)
  assert.equal(await statusOf('alice/site', cloneToken), 200)
  assert.equal(await statusOf('alice/other', cloneToken), 401)
  assert.equal(await statusOf('alice/site', await token('bob')), 404)
  for (const path of ['alice/site', 'alice/none', 'nobody/none'])
    for (const credential of [undefined, 'wrong'])
      assert.equal(await statusOf(path, credential), 401)
  const refused = await fetch(`${url}/alice/site.git/info/lfs/objects/batch`, {
    method: 'POST',
    headers: { accept: LFS_TYPE, 'content-type': LFS_TYPE },
    body: '{}',
  })
  assert.match(refused.headers.get('www-authenticate') ?? '', /^Basic /)
  assert.deepEqual(await refused.json(), {
    message: 'Requires authentication',
    request_id: refused.headers.get('x-request-id'),
  })
})

test('invalid batch requests are refused with a message', async (t) => {
  const { post, get, url } = await lfsScene(t, (host) =>
    host.repository('alice/open', { files: { a: '1' }, public: true }),
  )
  const one = batchObject('one')
  const download = (objects: unknown, more = {}) => ({ operation: 'download', objects, ...more })
  const many = (count: number) => Array.from({ length: count }, (_, at) => batchObject(String(at)))
  for (const [body, status, message] of [
    ['{', 400, /Problems parsing JSON/],
    ['null', 422, /operation must be download/],
    ['[]', 422, /operation must be download/],
    [{ operation: 'upload', objects: [one] }, 403, /does not accept LFS objects/],
    [{ operation: 'delete', objects: [one] }, 422, /operation must be download/],
    [download([one], { transfers: ['tus'] }), 422, /transfers must include basic/],
    [download([one], { hash_algo: 'sha512' }), 409, /hash_algo must be sha256/],
    [download({ 0: one }), 422, /list of objects is missing/],
    [download(many(1001)), 413, /at most 1000 in one request/],
    [JSON.stringify(download([])).padEnd(1024 * 1024 + 1), 413, /1 MiB at most/],
    ...[
      { ...one, oid: one.oid.toUpperCase() },
      { ...one, oid: one.oid.slice(1) },
      { ...one, oid: `../../../../../${one.oid.slice(15)}` },
      { ...one, oid: [one.oid] },
      { ...one, oid: `${one.oid}\n` },
      { ...one, size: -1 },
      { ...one, size: 0.5 },
      { ...one, size: '3' },
      { ...one, size: 2 ** 53 },
      { oid: one.oid },
      null,
      one.oid,
    ].map((object) => [download([one, object]), 422, /oid of 64 hex digits/] as const),
  ] as const) {
    const response = await post('alice/open', body)
    assert.equal(response.status, status, JSON.stringify(body).slice(0, 200))
    assert.match(String(response.body.message), message)
  }
  const valid = download(many(1000), {
    transfers: ['lfs-standalone-file', 'basic'],
    hash_algo: 'sha256',
  })
  assert.equal((await post('alice/open', valid)).status, 200)
  assert.equal((await post('alice/open', download([one]), { accept: 'text/html' })).status, 406)
  assert.equal(
    (await post('alice/open', download([one]), { accept: 'text/html, */*;q=0.1' })).status,
    200,
  )
  const type = { 'content-type': 'application/json' }
  assert.equal((await post('alice/open', download([one]), type)).status, 415)
  for (const oid of [
    'x',
    '..%2f..%2fconfig',
    `${one.oid}%0a`,
    one.oid.toUpperCase(),
    `${one.oid}0`,
  ])
    assert.equal((await get('alice/open', oid)).status, 404, oid)
  for (const [path, method] of [
    ['locks', 'GET'],
    ['locks', 'POST'],
    ['locks/verify', 'POST'],
    ['locks/1/unlock', 'POST'],
  ] as const) {
    const response = await fetch(`${url}/alice/open.git/info/lfs/${path}`, { method })
    assert.equal(response.status, 404)
    const { message } = (await response.json()) as { message: string }
    assert.match(message, /Locks are not supported/)
  }
})

test('downloads are subject to the limit of streams, and appear in the metrics and the log', async (t) => {
  const requestLimits = {
    ...{ maxConnections: 100, maxRequests: 100, maxStreams: 100, maxStreamsPerAccount: 1 },
    clientTimeoutMs: 60_000,
  }
  // Larger than all buffers together, so that the response stays open until the client reads it.
  const content = randomBytes(8 * 1024 * 1024).toString('hex')
  const { get, log, url } = await lfsScene(
    t,
    async (host) => {
      const dir = await host.repository('alice/open', { files: { a: '1' }, public: true })
      await put(join(dir, 'lfs/objects'), content)
    },
    { requestLimits },
  )
  const first = await get('alice/open', oidOf(content))
  const second = await get('alice/open', oidOf(content))
  assert.deepEqual([second.status, second.headers.get('retry-after')], [429, '10'])
  await first.body!.cancel()
  await until('the end is logged', () => log().includes('the client ended a clone'))
  const third = await get('alice/open', oidOf(content))
  assert.equal(third.status, 200)
  assert.equal((await third.text()).length, content.length)
  await until('both are counted', async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text()
    return (
      /outcome="ended_by_client"\} 1\n/.test(metrics) && /outcome="complete"\} 1\n/.test(metrics)
    )
  })
})
