import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { findSegments, lastVerified } from '../migrations/segment-store.ts'
import type { RepositoryMetadata } from '../repositories/repository-metadata.ts'
import type { SegmentMaker } from './make-segment.ts'
import { type Obtained, obtainSegment } from './obtain-segment.ts'

const METADATA = { id: 7, name: 'site', owner: { login: 'alice' } } as RepositoryMetadata

/** Obtains segments from a fake maker, which reads no repository: `state.fingerprint` is what it finds. */
async function setUp(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  const state = {
    now: 1000,
    fingerprint: 'first',
    /** Called after the repository is examined. */
    onInspected: async () => {},
    /** Called while the segment is made. */
    onMake: async () => {},
    /** Called before the result is recorded. */
    onTransaction: async () => {},
    examinations: 0,
    lastVerified: [] as (string | undefined)[],
    deleted: [] as string[],
    progress: [] as number[],
  }
  const maker: Pick<SegmentMaker, 'make'> = {
    async make({ key, lastVerified, storedFingerprints }, signal, onProgress) {
      state.examinations += 1
      const { fingerprint } = state
      const examination = { fingerprint, bytes: 100 }
      await state.onInspected()
      if (storedFingerprints.includes(fingerprint)) return { ...examination, segment: undefined }
      state.lastVerified.push(lastVerified)
      onProgress({ ...examination, bytesDone: 50 })
      await state.onMake()
      signal.throwIfAborted()
      const stored = { key, length: 1, plainLength: 1, crc32: 0, storedCrc32: 0, sha256: '' }
      const details = { contents: '{}', verified: fingerprint, warning: 'a warning', missingLfs: 0 }
      return { ...examination, segment: { ...stored, ...examination, ...details } }
    },
  }
  const blobs = {
    delete: async (key: string) => void state.deleted.push(key),
    size: async () => 1,
  }
  const dependencies = {
    db,
    blobs: blobs as Partial<BlobStore> as BlobStore,
    segments: maker as SegmentMaker,
    now: () => state.now,
    segmentCheckAgeMs: 1_000_000,
  }
  const aborter = new AbortController()
  const obtain = (onObtained = async (obtained: Obtained) => obtained) =>
    obtainSegment<Obtained>(
      dependencies,
      {
        metadata: METADATA,
        transact: async (work) => {
          await state.onTransaction()
          return db.transaction().execute(work)
        },
        onObtained: (_tx, obtained) => onObtained(obtained),
        onProgress: ({ bytesDone }) => void state.progress.push(bytesDone),
      },
      aborter.signal,
    )
  return { db, state, obtain, aborter }
}

onEachEngine('the segment of a repository', (engine, testOnSqlite) => {
  testOnSqlite('is made once, and reused while nothing changes', async (t) => {
    const { db, state, obtain } = await setUp(t, engine)
    const made = await obtain()
    assert.deepEqual({ ...made, segmentKey: '' }, { segmentKey: '', reused: false, bytes: 100 })
    assert.equal((await findSegments(db, ['first'])).get('first')?.key, made.segmentKey)
    assert.deepEqual(state.progress, [50])
    assert.deepEqual(await obtain(), { ...made, reused: true })
    assert.deepEqual([state.examinations, state.progress.length], [2, 1])
  })

  testOnSqlite(
    'is made again after a change, given the state that was verified last',
    async (t) => {
      const { db, state, obtain } = await setUp(t, engine)
      const first = await obtain()
      state.fingerprint = 'second'
      const second = await obtain()
      assert.notEqual(second.segmentKey, first.segmentKey)
      assert.deepEqual(state.lastVerified, [undefined, 'first'])
      // Both segments were created at the same time, so either may count as the newest.
      assert.match(String(await lastVerified(db, 7)), /first|second/)
    },
  )

  testOnSqlite('is reused when the repository returns to an earlier state', async (t) => {
    const { state, obtain } = await setUp(t, engine)
    const first = await obtain()
    state.fingerprint = 'second'
    await obtain()
    state.fingerprint = 'first'
    assert.deepEqual(await obtain(), { ...first, reused: true })
  })

  test('is the one that was recorded first if two exports make it at the same time', async (t) => {
    const { db, state, obtain } = await setUp(t, engine)
    let first: Obtained | undefined
    state.onMake = async () => {
      state.onMake = async () => {}
      first = await obtain()
      state.now = 9000
    }
    const second = await obtain()
    assert.equal(second.segmentKey, first?.segmentKey)
    assert.equal(state.deleted.length, 1)
    assert.notEqual(state.deleted[0], second.segmentKey)
    const [segment] = await db.selectFrom('segments').select('last_used_at').execute()
    assert.equal(
      segment?.last_used_at,
      9000,
      'the second export counts as a use, which delays the sweep',
    )
  })

  test('is not recorded if recording the result of the export fails', async (t) => {
    const { db, state, obtain } = await setUp(t, engine)
    const fail = () => Promise.reject(new Error('the lease was lost'))
    await assert.rejects(obtain(fail), /the lease was lost/)
    assert.equal((await findSegments(db, ['first'])).size, 0)
    // The worker that holds the lease now may be using the blob, so only the sweep removes it.
    assert.deepEqual(state.deleted, [])
  })

  testOnSqlite(
    'is not recorded if the repository cannot be read or the export is aborted',
    async (t) => {
      const { db, state, obtain, aborter } = await setUp(t, engine)
      state.onMake = async () => {
        throw new Unreadable('alice/site: HEAD is missing')
      }
      await assert.rejects(obtain(), Unreadable)
      state.onMake = async () => aborter.abort(new Error('cancelled'))
      await assert.rejects(obtain(), /cancelled/)
      assert.equal((await findSegments(db, ['first'])).size, 0)
    },
  )

  test('is made again if it is swept while the repository is examined', async (t) => {
    const { db, state, obtain } = await setUp(t, engine)
    const swept = await obtain()
    state.onInspected = async () => {
      state.onInspected = async () => {}
      await db.deleteFrom('segments').execute()
    }
    const made = await obtain()
    assert.equal(made.reused, false)
    assert.notEqual(made.segmentKey, swept.segmentKey)
  })

  test('is not reused if it is swept before the reuse is recorded', async (t) => {
    const { db, state, obtain } = await setUp(t, engine)
    await obtain()
    state.onTransaction = async () => void (await db.deleteFrom('segments').execute())
    await assert.rejects(obtain(), /the segment was swept/)
  })
})
