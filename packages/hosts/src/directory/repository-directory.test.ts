import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cachingReader, Directory } from './repository-directory.ts'

const LONG_AGO = new Date('2020-01-02T03:04:05Z')
const anHourLater = () => Date.now() + 3_600_000
const anHourAgo = () => Date.now() - 3_600_000

async function oldDirectory(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-directory-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  await mkdir(join(dir, 'site.git'))
  await utimes(dir, LONG_AGO, LONG_AGO)
  return dir
}

function namesOf(read: Directory | { reason: string }): string[] {
  assert.ok(read instanceof Directory)
  return read.entries.map(({ name }) => name)
}

test('a directory is read again only after a change', async (t) => {
  const dir = await oldDirectory(t)
  const read = cachingReader(anHourLater)
  const first = await read(dir)
  assert.deepEqual(namesOf(first), ['site.git'])
  assert.equal(await read(dir), first)
  await mkdir(join(dir, 'Site.git'))
  assert.deepEqual(namesOf(await read(dir)), ['Site.git', 'site.git'])
})

test('a directory that has just changed is read each time', async (t) => {
  const dir = await oldDirectory(t)
  const read = cachingReader(anHourAgo)
  assert.notEqual(await read(dir), await read(dir))
})

test('a directory that replaces another is read again', async (t) => {
  const [dir, other] = [await oldDirectory(t), await oldDirectory(t)]
  const read = cachingReader(anHourLater)
  const first = await read(dir)
  await rename(join(other, 'site.git'), join(other, 'other.git'))
  await rm(dir, { recursive: true })
  assert.ok('reason' in (await read(dir)))
  await rename(other, dir)
  await utimes(dir, LONG_AGO, LONG_AGO)
  assert.deepEqual(namesOf(first), ['site.git'])
  assert.deepEqual(namesOf(await read(dir)), ['other.git'])
})

test('entries are found in any case, and those that differ in case are distinguished', async (t) => {
  const dir = await oldDirectory(t)
  const read = await cachingReader()(dir)
  assert.ok(read instanceof Directory)
  assert.deepEqual(
    read.named('SITE.git').map(({ name }) => name),
    ['site.git'],
  )
  assert.deepEqual([read.has('site.git'), read.has('SITE.git')], [true, false])
})
