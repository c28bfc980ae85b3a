import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cloneScene } from '../../../../../../test/support/clone-scene.ts'
import type { GitHost } from '../../../../../../test/support/git-host.ts'

const BRANCHES = 25

async function fill(host: GitHost): Promise<void> {
  const dir = await host.repository('alice/site', {
    files: { 'a.txt': 'one', 'b.txt': 'b'.repeat(5000) },
    config: { 'transfer.hideRefs': 'refs/hidden' },
  })
  const second = await host.commit(dir, { 'a.txt': 'two' })
  await host.git(['update-ref', 'refs/hidden/x', second], { dir })
  const many = await host.repository('alice/many', {
    files: { a: '0' },
    config: { 'uploadpack.allowFilter': 'false' },
  })
  for (let at = 0; at < BRANCHES; at++)
    await host.commit(many, { a: String(at) }, { branch: `topic-${at}` })
  await host.repository('alice/empty')
  await host.repository('alice/new', { files: { a: '1' }, objectFormat: 'sha256' })
}

test('full, shallow, partial and repeated clones work with every protocol version', async (t) => {
  const scene = await cloneScene(t, fill)
  const { git, cloneUrl, host, work } = scene
  const token = await scene.token('alice')
  const refs = async (path: string) =>
    (await host.git(['for-each-ref', 'refs/heads', 'refs/tags'], { dir: host.path(path) }))
      .split('\n')
      .map((line) => line.replace(' commit', ''))
  const run = async (...args: string[]) => {
    const { code, output } = await git(...args)
    assert.equal(code, 0, `git ${args.join(' ')}: ${output}`)
    return output
  }
  for (const version of [0, 1, 2]) {
    const protocol = ['-c', `protocol.version=${version}`]
    const directory = (kind: string) => `${kind}-${version}`
    const from = (path: string) => cloneUrl(`alice/${path}.git`, token)
    await t.test(`version ${version}`, async () => {
      const listed = await run(...protocol, 'ls-remote', from('site'))
      assert.ok(!listed.includes('refs/hidden'), listed)
      const heads = await run(...protocol, 'ls-remote', '--heads', from('many'))
      assert.deepEqual(heads.trimEnd().split('\n'), await refs('alice/many'))
      for (const path of ['site', 'many', 'empty', 'new']) {
        const mirror = directory(path)
        await run(...protocol, 'clone', '--quiet', '--mirror', from(path), mirror)
        const found = await run('-C', mirror, 'for-each-ref')
        assert.equal(
          found.trimEnd(),
          await host.git(['for-each-ref', 'refs/heads'], { dir: host.path(`alice/${path}`) }),
        )
        await run('-C', mirror, 'fsck', '--full', '--strict')
      }
      await run(...protocol, 'clone', '--quiet', '--depth=1', from('site'), directory('shallow'))
      assert.equal(await run('-C', directory('shallow'), 'rev-list', '--count', 'HEAD'), '1\n')
      await run(...protocol, '-C', directory('shallow'), 'fetch', '--quiet', '--unshallow')
      assert.equal(await run('-C', directory('shallow'), 'rev-list', '--count', 'HEAD'), '2\n')
      const filter = ['--filter=blob:none', '--no-checkout']
      await run(...protocol, 'clone', '--quiet', ...filter, from('site'), directory('part'))
      const missing = await run('-C', directory('part'), ...LIST_MISSING)
      assert.match(missing, /^\?/m)
      const unfiltered = await run(...protocol, 'clone', ...filter, from('many'), directory('all'))
      assert.match(unfiltered, /filtering not recognized by server, ignoring/)
      assert.ok(!unfiltered.includes('hint'), unfiltered)
    })
  }
  // A fetch of new commits lists the commits that both sides have: long enough for git to compress the request.
  for (let nth = 0; nth < 3; nth++)
    await host.commit(host.path('alice/many'), { a: `n${nth}` }, { branch: `new-${nth}` })
  for (const version of [0, 2]) {
    const mirror = join(work, `many-${version}`)
    const fetchArgs = ['-c', `protocol.version=${version}`, '-C', mirror, 'fetch', 'origin']
    const { ended } = scene.start(fetchArgs, { GIT_TRACE_CURL: '1' })
    const { code, output } = await ended
    assert.equal(code, 0, output)
    assert.match(output, /Content-Encoding: gzip/)
    assert.equal((await run('-C', mirror, 'for-each-ref')).split('\n').length, BRANCHES + 5)
  }
  assert.ok(!existsSync(join(host.path('alice/site'), 'gc.log')))
})

const LIST_MISSING = ['rev-list', '--objects', '--all', '--missing=print']

const fillSmall = (host: GitHost) => host.repository('alice/site', { files: { a: '1' } })

test('a locked repository can be cloned', async (t) => {
  const scene = await cloneScene(t, fillSmall)
  await scene.source.reconcileLock({ owner: 'alice', name: 'site' }, async () => true)
  const address = scene.cloneUrl('alice/site', await scene.token('alice'))
  const { code, output } = await scene.git('clone', '--quiet', address, 'locked')
  assert.equal(code, 0, output)
})

test('every push is refused with a message that git prints', async (t) => {
  const { git, cloneUrl, token } = await cloneScene(t, fillSmall)
  const address = cloneUrl('alice/site', await token('alice'))
  assert.equal((await git('clone', '--quiet', address, 'mine')).code, 0)
  for (const to of [address, cloneUrl('alice/site'), cloneUrl('nobody/none')]) {
    const { code, output } = await git('-C', 'mine', 'push', to, 'HEAD:refs/heads/other')
    assert.equal(code, 128)
    assert.match(
      output,
      /^remote: This address is for cloning and fetching only\. It does not accept pushes\./m,
    )
  }
})

test('the dumb protocol and unknown services are refused', async (t) => {
  const { url, token } = await cloneScene(t, fillSmall)
  const headers = { authorization: `bearer ${await token('alice')}` }
  const status = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}/alice/site.git${path}`, { headers, ...init })
    if (response.status === 403)
      assert.match(
        await response.text(),
        /^(Only git clone and git fetch|This address is for cloning)/,
      )
    return response.status
  }
  assert.equal(await status('/info/refs'), 403)
  for (const service of [
    'git-upload-archive',
    'upload-pack',
    'git-upload-pack%00',
    'a&service=b',
    '',
  ])
    assert.equal(await status(`/info/refs?service=${service}`), 403, service)
  assert.equal(await status('/git-receive-pack', { method: 'POST', body: '0000' }), 403)
  for (const path of ['/HEAD', '/objects/info/packs', '/config', '/git-upload-archive'])
    assert.equal(await status(path), 404, path)
})
