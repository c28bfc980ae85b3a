import assert from 'node:assert/strict'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/support/sample-repositories.ts'
import { needsMount, smallDisk } from '../../test/support/small-disk.ts'
import { describeDiskFailure, publicReason, writingTo } from './disk-errors.ts'

const failed = (fields: object, message = 'failed at /srv/data/x') =>
  Object.assign(new Error(message), fields)

test(
  'a full disk is described with the file and the bytes, and to users without them',
  needsMount,
  async (t) => {
    const { path, fill } = smallDisk(t, 1)
    const from = join(temporaryDirectory(t), 'from')
    await writeFile(from, Buffer.alloc(600_000))
    fill(100_000)
    const to = join(path, 'to')
    for (const write of [() => copyFile(from, to), () => writeFile(to, Buffer.alloc(600_000))]) {
      const error: unknown = await writingTo(to, write, 600_000).then(
        () => assert.fail('it fits'),
        (error: unknown) => error,
      )
      assert.match(
        describeDiskFailure(error)!,
        /^cannot write \/\S+\/to: no space left on the disk \(600 kB needed, \S+ (?:bytes|kB) free\)$/,
      )
      assert.equal(publicReason(error), "the server's disk is full")
      // A wrapped error has the same description.
      assert.equal(publicReason(new Error('export', { cause: error })), "the server's disk is full")
    }
  },
)

test('full SQLite, PostgreSQL, git and buckets are described like a full disk', (t) => {
  using db = new DatabaseSync(join(temporaryDirectory(t), 'small.sqlite'))
  db.exec('create table a (b); pragma max_page_count = 3')
  let full: unknown
  try {
    db.prepare('insert into a values (zeroblob(100000))').run()
  } catch (error) {
    full = error
  }
  assert.equal(describeDiskFailure(full), 'no space left on the disk')
  const git = { name: 'GitFailed' }
  const words = "git gc failed (128): fatal: '/srv/x': No space left on device"
  for (const each of [full, failed({ code: '53100' }), failed(git, words)])
    assert.equal(publicReason(each), "the server's disk is full")
  const refused = failed({ name: 'QuotaExceeded' }, 'PutObject: QuotaExceeded (403)')
  assert.equal(publicReason(refused), "the server's storage is full")
  assert.match(describeDiskFailure(refused)!, /^no space left in the bucket: PutObject/)
})

test('quotas, read-only file systems and broken disks have their own messages', () => {
  const describe = (code: string) => {
    const error = failed({ code, syscall: 'write', path: '/srv/x' })
    return [describeDiskFailure(error), publicReason(error)]
  }
  assert.deepEqual(describe('EDQUOT'), [
    'cannot write /srv/x: the disk quota of this user is used up',
    "the server's disk quota is used up",
  ])
  assert.deepEqual(describe('EROFS'), [
    'cannot write /srv/x: read-only file system',
    "the server's disk is read-only",
  ])
  assert.deepEqual(describe('EIO'), [
    '/srv/x: input/output error of the disk',
    "the server's disk has an input/output error",
  ])
})

test('other errors are described to users without paths', () => {
  const gone = failed({ code: 'ENOENT', syscall: 'open' }, "ENOENT: no such file, open '/srv/x'")
  assert.equal(describeDiskFailure(gone), undefined)
  assert.equal(publicReason(gone), 'ENOENT: no such file')
  const git = failed({ name: 'GitFailed' }, "git fsck failed (1): bad '/srv/data/scratch/1'")
  assert.equal(publicReason(git), "git fsck failed (1): bad '…'")
  assert.equal(publicReason(new Error('the segment was swept')), 'the segment was swept')
})
