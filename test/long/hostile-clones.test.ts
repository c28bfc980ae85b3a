import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { appendFile, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { cloneScene } from '../support/clone-scene.ts'
import type { GitHost } from '../support/git-host.ts'
import { plantPrograms } from '../support/planted-programs.ts'
import { childrenOf } from '../support/processes.ts'
import { sendRaw } from '../support/raw-http.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { until } from '../support/wait-until.ts'

const TYPE = { 'content-type': 'application/x-git-upload-pack-request' }

async function fill(host: GitHost): Promise<void> {
  await host.repository('alice/open', { files: { a: '1' }, public: true })
  await host.repository('bob/secret', { files: { a: 'the secret of bob' } })
}

/** The repository is larger than all buffers together, so git runs until the client reads. */
async function fillLarge(host: GitHost): Promise<void> {
  const files = { large: randomBytes(8 * 1024 * 1024).toString('hex') }
  // Compression would take most of the time of the test.
  await host.repository('alice/large', { files, public: true, config: { 'core.compression': '0' } })
}

const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`

/** Returns the ids of the git processes that serve clones from this host. */
const gitProcesses = ({ root }: GitHost) =>
  childrenOf(process.pid).filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      return command.includes('upload-pack') && command.includes(root)
    } catch {
      return false
    }
  })

test('requests that no git client sends are refused', async (t) => {
  const { url, host, git, cloneUrl, log } = await cloneScene(t, fill)
  const head = await host.git(['rev-parse', 'HEAD'], { dir: host.path('alice/open') })
  const post = async (body: string | Buffer, headers: Record<string, string> = {}) => {
    const path = `${url}/alice/open.git/git-upload-pack`
    const response = await fetch(path, { method: 'POST', headers: { ...TYPE, ...headers }, body })
    return { status: response.status, body: await response.text() }
  }
  const gzip = { 'content-encoding': 'gzip' }

  await t.test('wrong content types, encodings and bodies', async () => {
    assert.equal((await post('0000', { 'content-type': 'text/plain' })).status, 415)
    assert.equal((await post('0000', { 'content-encoding': 'br' })).status, 415)
    assert.equal((await post('not gzip', gzip)).status, 400)
    assert.equal((await post(gzipSync('0000').subarray(0, 20), gzip)).status, 400)
  })

  await t.test('bodies that git itself rejects', async () => {
    assert.deepEqual(await post('0000'), { status: 200, body: '' })
    const want = line(`want ${head}`)
    for (const body of [
      ...['', 'x', 'zzzz', '0003', 'ffff', '\0'.repeat(100), line('want nothing\nat all\n'), want],
      ...['deepen -1', 'deepen-since x', 'deepen-not x'].map(
        (each) => `${want}${line(each)}0000${line('done')}`,
      ),
      `${want}${line('shallow xx')}0000${line('done')}`,
      `${want}${line('filter frob')}0000${line('done')}`,
      `${want}0000${line('have zz')}`,
    ]) {
      const { status, body: message } = await post(body)
      assert.equal(status, 400, `${body}: ${message}`)
      assert.match(message, /^Git rejected the request: ./, body)
    }
    const fetchOf = (...lines: string[]) =>
      `${line('command=fetch')}0001${lines.map(line).join('')}${line('done')}0000`
    for (const body of [
      ...[line('command=frobnicate'), line('frob'), '0001', line('command=fetch'), 'zzzz'],
      ...[['want zzz'], ['frob'], [`want ${head}`, 'deepen -1']].map((lines) => fetchOf(...lines)),
      fetchOf(`want ${head}`).slice(0, -4),
      `${line('command=ls-refs')}${line('object-format=sha256')}0001${line('peel')}0000`,
    ])
      assert.equal((await post(body, { 'git-protocol': 'version=2' })).status, 400, body)
    // Git itself writes this error into its response. Such a filter would make it read any blob as a list of paths.
    const filtered = await post(fetchOf(`want ${head}`, `filter sparse:oid=${head}`), {
      'git-protocol': 'version=2',
    })
    assert.deepEqual(filtered, {
      status: 200,
      body: line("ERR filter 'sparse:oid' not supported"),
    })
    // Git has sent the first section of its response already.
    const late = await post(fetchOf(`want ${head}`, 'deepen 1', 'deepen-since 5'), {
      'git-protocol': 'version=2',
    })
    assert.deepEqual(late, { status: 200, body: line('shallow-info\n') })
    assert.ok(!log().includes('a clone failed'), log())
    const metrics = await (await fetch(`${url}/metrics`)).text()
    assert.match(metrics, /clone_requests_total\{outcome="refused"\} \d\d/)
    assert.match(metrics, /clone_requests_total\{outcome="failed"\} 0/)
  })

  await t.test('a damaged repository is no error of the request', async () => {
    const dir = host.path('alice/open')
    const packedRefs = join(dir, 'packed-refs')
    await writeFile(packedRefs, 'zzz\n')
    assert.equal((await post('0000')).status, 503)
    assert.ok(log().includes('a clone failed'), log())
    await unlink(packedRefs)
  })

  await t.test('requests that are too large, plain or compressed', async () => {
    const want = line(`want ${head}\n`)
    const many = await post(`${want.repeat(200_000)}0000${line('done\n')}`)
    assert.equal(many.status, 200)
    assert.ok(many.body.includes('PACK'))
    // 17.5 MB.
    const excess = Buffer.from(want.repeat(350_000))
    const tooLarge = /^The request is too large: at most 16 MiB, uncompressed\.\n$/
    for (const [body, headers] of [
      [gzipSync(excess, { level: 1 }), gzip],
      [gzipSync(Buffer.alloc(40 * 1024 * 1024), { level: 1 }), gzip],
    ] as const) {
      const response = await post(body, headers)
      assert.equal(response.status, 413)
      assert.match(response.body, tooLarge)
    }
    assert.equal((await post(excess)).status, 413)
  })

  await t.test('path traversal', async () => {
    const paths = [
      ...[
        '/alice/..%2fbob%2fsecret',
        '/alice/..',
        '/../bob/secret.git',
        '/alice%2fopen/x',
        '/./alice',
      ],
      ...['/alice/open.git.git', '/alice/%00', '/alice/open%00.git', '/alice/-c', '/--help/open'],
      ...[
        '/alice/open.git%2f..%2f..%2fbob%2fsecret.git',
        `/alice/${'x'.repeat(400)}`,
        '/al%69ce/.git',
      ],
    ]
    for (const path of paths) {
      const head = `GET ${path}/info/refs?service=git-upload-pack HTTP/1.1\r\nhost: x\r\nuser-agent: x\r\nconnection: close\r\n\r\n`
      const { statuses, text } = await sendRaw(url, [head], {})
      assert.ok([401, 404].includes(statuses[0]!), `${path}: ${text}`)
      assert.ok(!text.includes('refs/heads'), path)
    }
  })

  await t.test('unknown protocol versions', async () => {
    for (const version of [
      'version=3',
      'version=2 ',
      'version=-1',
      '$(id)',
      'version=2:x=\u00e9',
      '',
    ]) {
      const { code, output } = await git(
        '-c',
        'protocol.version=0',
        '-c',
        `http.extraHeader=Git-Protocol: ${version}`,
        'ls-remote',
        cloneUrl('alice/open'),
      )
      if (!version.startsWith('version=2')) assert.equal(code, 0, `${version}: ${output}`)
    }
  })
  assert.deepEqual(gitProcesses(host), [])
})

test('a request that arrives too slowly times out without starting git', async (t) => {
  const { url, host } = await cloneScene(t, fill, {
    requestLimits: { ...FEW, clientTimeoutMs: 300 },
  })
  const head = 'POST /alice/open/git-upload-pack HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n'
  const { statuses } = await sendRaw(
    url,
    [`${head}content-type: ${TYPE['content-type']}\r\n\r\n0032want`],
    {},
  )
  assert.deepEqual(statuses, [408])
  assert.deepEqual(gitProcesses(host), [])
})

const FEW = {
  ...{ maxConnections: 100, maxRequests: 100, maxStreams: 100, maxStreamsPerAccount: 100 },
  clientTimeoutMs: 60_000,
}

/** Starts a client that requests a repository and reads nothing of the response. */
async function startStalledClient(url: string, host: GitHost) {
  const head = await host.git(['rev-parse', 'HEAD'], { dir: host.path('alice/large') })
  const client = request(`${url}/alice/large/git-upload-pack`, { method: 'POST', headers: TYPE })
  client.on('error', () => {})
  client.on('response', (response) => response.pause())
  client.end(`${line(`want ${head} side-band-64k\n`)}0000${line('done\n')}`)
  await until('git serves the client', () => gitProcesses(host).length === 1)
  return client
}

test('git is killed when the client disconnects or stops reading', async (t) => {
  const scene = await cloneScene(t, fillLarge, { requestLimits: { ...FEW, clientTimeoutMs: 3000 } })
  const { url, host, log } = scene
  const client = await startStalledClient(url, host)
  client.destroy()
  await until('git has ended', () => gitProcesses(host).length === 0)
  await until('the end of the clone is logged', () => log().includes('the client ended a clone'))
  await startStalledClient(url, host)
  await until('git has ended while the client is connected', () => gitProcesses(host).length === 0)
  await until('both clones are counted', async () =>
    /clone_requests_total\{outcome="ended_by_client"\} 2/.test(
      await (await fetch(`${url}/metrics`)).text(),
    ),
  )
})

test('clones above the limit get 503 with a message that git prints', async (t) => {
  const scene = await cloneScene(t, fillLarge, { cloneSlots: { max: 1, waitMs: 50 } })
  const { url, host, git, cloneUrl } = scene
  const first = await startStalledClient(url, host)
  const second = await git('ls-remote', cloneUrl('alice/large'))
  assert.match(
    second.output,
    /^remote: Too many clones are running at the moment\. Please try again later\./,
  )
  const response = await fetch(`${url}/alice/large/info/refs?service=git-upload-pack`)
  assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '10'])
  first.destroy()
  await until('git has ended', () => gitProcesses(host).length === 0)
  assert.equal((await git('ls-remote', cloneUrl('alice/large'))).code, 0)
})

test('a repository that refers to an endless file is cloned without it or refused', async (t) => {
  const { git, cloneUrl, host } = await cloneScene(t, async (host) => {
    const config = { 'core.attributesFile': '/dev/zero', 'mailmap.file': '/dev/zero' }
    await host.repository('alice/settings', { files: { a: '1' }, public: true, config })
    await host.repository('alice/linked', { files: { a: '1' }, public: true })
    await host.repository('alice/included', { files: { a: '1' }, public: true })
  })
  const clone = (name: string) => git('clone', '--quiet', cloneUrl(name), name.replace('/', '-'))
  assert.equal((await clone('alice/settings')).code, 0)
  const attributes = join(host.path('alice/linked'), 'info/attributes')
  await rm(attributes, { force: true })
  await mkdir(dirname(attributes), { recursive: true })
  await symlink('/dev/zero', attributes)
  assert.match(
    (await clone('alice/linked')).output,
    /remote: alice\/linked: info\/attributes is not a regular file/,
  )
  await appendFile(
    join(host.path('alice/included'), 'config'),
    '[includeIf "gitdir:/"]\n\tpath = /dev/zero\n',
  )
  assert.match(
    (await clone('alice/included')).output,
    /remote: alice\/included: its config includes something that is not a file/,
  )
})

test('a clone runs no program that a repository configures and reads no other repository', async (t) => {
  const base = temporaryDirectory(t)
  const traps = plantPrograms(base)
  const scene = await cloneScene(t, async (host) => {
    await fill(host)
    traps.plantIn(await host.repository('alice/trap', { files: { a: '1' }, public: true }))
  })
  const { git, cloneUrl, host } = scene
  for (const version of [0, 2]) {
    const protocol = ['-c', `protocol.version=${version}`]
    const { code, output } = await git(
      ...protocol,
      'clone',
      '--quiet',
      cloneUrl('alice/trap'),
      `trap-${version}`,
    )
    assert.equal(code, 0, output)
  }
  assert.deepEqual(traps.programsRun(), [])

  const [open, secret] = [host.path('alice/open'), host.path('bob/secret')]
  const shown = async () => {
    const { output } = await git('ls-remote', cloneUrl('alice/open'))
    const known = await host.git(['rev-parse', 'HEAD'], { dir: secret })
    assert.ok(!output.includes(known), output)
    return output
  }
  await appendFile(join(open, 'objects/info/alternates'), `${secret}/objects\n`).catch(() => {})
  const foreign = join(open, 'refs/heads/foreign')
  await symlink(join(secret, 'refs/heads/main'), foreign)
  assert.match(
    await shown(),
    /remote: alice\/open: refs\/heads\/foreign is a symbolic link to a path outside refs/,
  )
  await unlink(foreign)
  await writeFile(join(open, 'commondir'), secret)
  assert.match(await shown(), /remote: alice\/open: it is a worktree of another repository/)
  await unlink(join(open, 'commondir'))
  assert.match(await shown(), /refs\/heads\/main/)
  for (const part of ['refs', 'packed-refs', 'config']) {
    await rename(join(open, part), join(open, 'kept')).catch(() => {})
    await symlink(join(secret, part), join(open, part))
    assert.match(await shown(), /remote: alice\/open: \S+ is not a (regular file|directory)/, part)
    await unlink(join(open, part))
    await rename(join(open, 'kept'), join(open, part)).catch(() => {})
  }
  await rename(open, `${open}.moved`)
  await symlink(secret, open)
  assert.match(await shown(), /remote: alice\/open: the repository no longer exists/)
})
