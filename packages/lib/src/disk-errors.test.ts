import assert from 'node:assert/strict'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { S3ServiceException } from '@aws-sdk/client-s3'
import { temporaryDirectory } from '../../../test/support/sample-repositories.ts'
import { needsMount, smallDisk } from '../../../test/support/small-disk.ts'
import { describeDiskFailure, publicReason, withWriteContext } from './disk-errors.ts'

const errorWith = (fields: object, message = 'failed at /srv/data/x') =>
  Object.assign(new Error(message), fields)

test(
  'a full disk is described to operators with the path and the sizes, and to users without them',
  needsMount,
  async (t) => {
    const { path, fill } = smallDisk(t, 1)
    const from = join(temporaryDirectory(t), 'from')
    await writeFile(from, Buffer.alloc(600_000))
    fill(100_000)
    const to = join(path, 'to')
    for (const write of [() => copyFile(from, to), () => writeFile(to, Buffer.alloc(600_000))]) {
      const error: unknown = await withWriteContext(to, write, 600_000).then(
        () => assert.fail('the write succeeded'),
        (error: unknown) => error,
      )
      assert.match(
        describeDiskFailure(error)!,
        /^cannot write \/\S+\/to: no space left on the disk \(600 kB needed, \S+ (?:bytes|kB) free\)$/,
      )
      assert.equal(publicReason(error), "the server's disk is full")
      // The cause of a wrapped error is found.
      assert.equal(publicReason(new Error('export', { cause: error })), "the server's disk is full")
    }
  },
)

test('a full disk is recognized in errors of SQLite, PostgreSQL and git, and so is a full bucket', (t) => {
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
  const message = "git gc failed (128): fatal: '/srv/x': No space left on device"
  for (const error of [full, errorWith({ code: '53100' }), errorWith(git, message)])
    assert.equal(publicReason(error), "the server's disk is full")
  const quotaExceeded = errorWith({ name: 'QuotaExceeded' }, 'PutObject: QuotaExceeded (403)')
  assert.equal(publicReason(quotaExceeded), "the server's storage is full")
  assert.match(describeDiskFailure(quotaExceeded)!, /^no space left in the bucket: PutObject/)
})

test('exceeded quotas, read-only file systems and I/O errors have their own messages', () => {
  const messagesFor = (code: string) => {
    const error = errorWith({ code, syscall: 'write', path: '/srv/x' })
    return [describeDiskFailure(error), publicReason(error)]
  }
  assert.deepEqual(messagesFor('EDQUOT'), [
    'cannot write /srv/x: the disk quota of this user is used up',
    "the server's disk quota is used up",
  ])
  assert.deepEqual(messagesFor('EROFS'), [
    'cannot write /srv/x: read-only file system',
    "the server's disk is read-only",
  ])
  assert.deepEqual(messagesFor('EFBIG'), [
    'cannot write /srv/x: the file would exceed the size limit of this process (ulimit -f) or of the file system',
    "a file exceeds the server's limit",
  ])
  assert.deepEqual(messagesFor('EIO'), [
    '/srv/x: input/output error of the disk',
    "the server's disk has an input/output error",
  ])
})

test('errors of the bucket, the database and the network are described to users without names', () => {
  const message = 'User: arn:aws:iam::123456789012:user/godwit is not authorized'
  const refused = new S3ServiceException({
    name: 'AccessDenied',
    $fault: 'client',
    $metadata: {},
    message,
  })
  const asInThread = errorWith({ name: 'AccessDenied', $fault: 'client' }, message)
  for (const error of [refused, asInThread])
    assert.equal(publicReason(error), "the server's storage refused the request")
  const address = 'connect ECONNREFUSED 10.0.0.5:5432'
  const unreachable = errorWith({ code: 'ECONNREFUSED', syscall: 'connect' }, address)
  const several = Object.assign(new AggregateError([unreachable]), { code: 'ECONNREFUSED' })
  for (const error of [unreachable, several])
    assert.equal(publicReason(error), 'the server had a system error (ECONNREFUSED)')
  const unavailable = errorWith({ name: 'BlobsUnavailable' }, `GetObjectCommand: ${address}`)
  assert.equal(publicReason(unavailable), "the server's storage is unavailable")
  const denied = errorWith({ severity: 'ERROR', code: '42501' }, 'permission denied for table jobs')
  assert.equal(publicReason(denied), "the server's database had an error")
  for (const wrapped of [
    new Error(`a repository cannot be locked: ${address}`, { cause: unreachable }),
    new AggregateError([unreachable], `a repository cannot be locked: ${address}`),
  ])
    assert.equal(
      publicReason(wrapped),
      'a repository cannot be locked: the server had a system error (ECONNREFUSED)',
    )
})

test('other errors are described to users without paths', () => {
  const missing = errorWith(
    { code: 'ENOENT', syscall: 'open' },
    "ENOENT: no such file, open '/srv/x'",
  )
  assert.equal(describeDiskFailure(missing), undefined)
  assert.equal(publicReason(missing), 'a file is missing on the server')
  const git = errorWith({ name: 'GitFailed' }, "git fsck failed (1): bad '/srv/data/scratch/1'")
  assert.equal(publicReason(git), "git fsck failed (1): bad '…'")
  assert.equal(publicReason(new Error('the segment was swept')), 'the segment was swept')
})
