import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { withTimeout } from '../../../../test/support/wait-until.ts'
import { blobStoreContract } from './blob-store.contract.ts'
import { BlobExists, BlobNotFound } from './blob-store.ts'
import { createDiskBlobStore } from './disk.ts'

async function temporaryRoot(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-blobs-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'blobs')
}

blobStoreContract('disk', async (t) => createDiskBlobStore(await temporaryRoot(t)))

test('blobs are stored in shards with private modes, and nothing else is left', async (t) => {
  const root = await temporaryRoot(t)
  await createDiskBlobStore(root).put('abc', [Buffer.from('x')])
  const names = await readdir(root, { recursive: true })
  assert.deepEqual(names.sort(), ['ab', 'ab/abc', 'tmp'])
  assert.equal((await stat(join(root, 'ab/abc'))).mode & 0o777, 0o600)
  assert.equal((await stat(root)).mode & 0o777, 0o700)
})

test('a blob is synced before it gets its name, and its folders before the put ends', async (t) => {
  const root = await temporaryRoot(t)
  const events: string[] = []
  const { fsync, promises } = fs
  const { link } = promises
  t.mock.method(fs, 'fsync', (fd: number, done: fs.NoParamCallback) => {
    events.push(`sync ${fs.readlinkSync(`/proc/self/fd/${fd}`).replace(/\.[\w-]+$/, '')}`)
    fsync(fd, done)
  })
  t.mock.method(promises, 'link', async (from: string, to: string) => {
    await link(from, to)
    events.push(`link ${to}`)
  })
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  syncBuiltinESMExports()
  // Another copy of the module, which takes these functions.
  const module = new URL(`disk.ts?copy=${process.pid}`, import.meta.url).href
  const { createDiskBlobStore: create }: typeof import('./disk.ts') = await import(module)
  const blobs = create(root)
  const expected = ['sync tmp/abc', 'link ab/abc', 'sync ab', 'sync blobs', 'sync .']
  const paths = new Map([
    [root, 'blobs'],
    [dirname(root), '.'],
  ])
  const shown = (event: string) => {
    const [what, path = ''] = event.split(' ')
    return `${what} ${paths.get(path) ?? path.slice(root.length + 1)}`
  }
  await blobs.put('abc', [Buffer.from('x')])
  assert.deepEqual(events.map(shown), expected)
  events.length = 0
  await blobs.put('abd', [])
  assert.deepEqual(events.map(shown), ['sync tmp/abd', 'link ab/abd', 'sync ab'])
})

test('folders beside the shards are ignored', async (t) => {
  const root = await temporaryRoot(t)
  const store = createDiskBlobStore(root)
  await store.put('abc', [Buffer.from('x')])
  await mkdir(join(root, 'lost+found'))
  await writeFile(join(root, 'lost+found', 'another'), '')
  const keys = (await Array.fromAsync(store.list())).map(({ key }) => key)
  assert.deepEqual(keys, ['abc'])
})

test('one of two concurrent puts is refused, and the blob is the other one', async (t) => {
  const root = await temporaryRoot(t)
  const stores = [createDiskBlobStore(root), createDiskBlobStore(root)]
  const both = Promise.withResolvers<void>()
  let begun = 0
  async function* waiting(letter: string) {
    yield Buffer.alloc(500_000, letter)
    begun += 1
    if (begun === 2) both.resolve()
    await both.promise
    yield Buffer.alloc(500_000, letter)
  }
  const puts = await Promise.allSettled(
    stores.map((blobs, index) => blobs.put('same', waiting('ab'[index]!))),
  )
  const winner = puts.findIndex(({ status }) => status === 'fulfilled')
  const loser = puts[1 - winner]
  assert.ok(loser?.status === 'rejected' && loser.reason instanceof BlobExists)
  const chunks = []
  for await (const chunk of await stores[0]!.open('same')) chunks.push(chunk)
  assert.ok(Buffer.concat(chunks).equals(Buffer.alloc(1_000_000, 'ab'[winner])))
  assert.deepEqual(await readdir(join(root, 'tmp')), [])
})

test('a killed put leaves no blob, and its temporary file is swept once it is old', async (t) => {
  const root = await temporaryRoot(t)
  const program = `
    const { createDiskBlobStore } = await import(process.argv[1])
    async function* stuck() {
      yield Buffer.alloc(2_000_000)
      process.stdout.write('begun')
      await new Promise(() => setInterval(() => {}, 1000))
    }
    await createDiskBlobStore(process.argv[2]).put('killed', stuck())
  `
  const disk = new URL('./disk.ts', import.meta.url).href
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, disk, root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await withTimeout('the writer has begun', once(child.stdout, 'data'))
  child.kill('SIGKILL')
  await withTimeout('the writer is dead', once(child, 'close'))

  const blobs = createDiskBlobStore(root)
  await assert.rejects(blobs.open('killed'), BlobNotFound)
  const remains = await readdir(join(root, 'tmp'))
  assert.equal(remains.length, 1)
  assert.equal(await blobs.sweepUnfinished(60_000), 0)
  const hourAgo = new Date(Date.now() - 3_600_000)
  await utimes(join(root, 'tmp', remains[0]!), hourAgo, hourAgo)
  assert.equal(await blobs.sweepUnfinished(60_000), 1)
  assert.deepEqual(await readdir(join(root, 'tmp')), [])
})

test('files that are not blobs are not listed', async (t) => {
  const root = await temporaryRoot(t)
  const blobs = createDiskBlobStore(root)
  await blobs.put('abc', [])
  await writeFile(join(root, 'ab', '.DS_Store'), '')
  await writeFile(join(root, 'README'), '')
  const keys = []
  for await (const { key } of blobs.list()) keys.push(key)
  assert.deepEqual(keys, ['abc'])
})
