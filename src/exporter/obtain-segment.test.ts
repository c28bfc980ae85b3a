import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEachEngine, openDatabase } from '../../test/support/databases.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { findSegment, lastVerified } from '../migrations/segment-store.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { type Obtained, obtainSegment } from './obtain-segment.ts'
import type { SegmentMaker } from './segment-maker.ts'

const FACTS = { id: 7, name: 'site', owner: { login: 'alice' } } as RepositoryFacts

/** What a maker of segments says without reading or writing anything: the fingerprint is whatever the test says it is. */
async function scene(t: TestContext, engine: 'sqlite' | 'postgres') {
  const { db } = await openDatabase(t, engine)
  const told = {
    now: 1000,
    fingerprint: 'first',
    /** While the repository is read. */
    meanwhile: async () => {},
    looks: 0,
    proofs: [] as (string | undefined)[],
    deleted: [] as string[],
    written: [] as number[],
  }
  const segments: Pick<SegmentMaker, 'make'> = {
    async make({ key, lastVerified }, signal, { isNeeded, onBytes }) {
      told.looks += 1
      const { fingerprint } = told
      if (!(await isNeeded({ fingerprint, bytes: 100 }))) return undefined
      told.proofs.push(lastVerified)
      onBytes(50)
      await told.meanwhile()
      signal.throwIfAborted()
      const record = { key, length: 1, plainLength: 1, crc32: 0, storedCrc32: 0, sha256: '' }
      return { ...record, fingerprint, contents: '{}', verified: fingerprint, warning: 'beware' }
    },
  }
  const blobs = {
    delete: async (key: string) => void told.deleted.push(key),
    size: async () => 1,
  }
  const parts = {
    db,
    blobs: blobs as Partial<BlobStore> as BlobStore,
    segments: segments as SegmentMaker,
    now: () => told.now,
    segmentCheckAgeMs: 1_000_000,
  }
  const stopping = new AbortController()
  const obtain = (onEnd = async (obtained: Obtained) => obtained) =>
    obtainSegment<Obtained>(
      parts,
      {
        facts: FACTS,
        transact: (work) => db.transaction().execute(work),
        onEnd: (_tx, obtained) => onEnd(obtained),
        onMake: async ({ bytes }) => {
          told.written.push(bytes)
          return (written) => void told.written.push(written)
        },
      },
      stopping.signal,
    )
  return { db, told, obtain, stopping }
}

onEachEngine('the segment of a repository', (engine) => {
  test('is made once, and found again while nothing changes', async (t) => {
    const { db, told, obtain } = await scene(t, engine)
    const made = await obtain()
    assert.deepEqual({ ...made, segmentKey: '' }, { segmentKey: '', reused: false, bytes: 100 })
    assert.equal(await findSegment(db, 'first'), made.segmentKey)
    assert.deepEqual(told.written, [100, 50])
    assert.deepEqual(await obtain(), { ...made, reused: true })
    assert.deepEqual([told.looks, told.written.length], [2, 2])
  })

  test('is made anew of what has changed, from what was proven before', async (t) => {
    const { db, told, obtain } = await scene(t, engine)
    const first = await obtain()
    told.fingerprint = 'second'
    const second = await obtain()
    assert.notEqual(second.segmentKey, first.segmentKey)
    assert.deepEqual(told.proofs, [undefined, 'first'])
    assert.match(String(await lastVerified(db, 7)), /first|second/)
  })

  test('is that of whoever was quicker with the same content', async (t) => {
    const { db, told, obtain } = await scene(t, engine)
    let quicker: Obtained | undefined
    told.meanwhile = async () => {
      told.meanwhile = async () => {}
      quicker = await obtain()
      told.now = 9000
    }
    const slower = await obtain()
    assert.equal(slower.segmentKey, quicker?.segmentKey)
    assert.equal(told.deleted.length, 1)
    assert.notEqual(told.deleted[0], slower.segmentKey)
    const [segment] = await db.selectFrom('segments').select('named_at').execute()
    assert.equal(segment?.named_at, 9000, 'the sweep counts from its last use')
  })

  test('is not noted where its end is not', async (t) => {
    const { db, told, obtain } = await scene(t, engine)
    const lost = () => Promise.reject(new Error('the lease was lost'))
    await assert.rejects(obtain(lost), /the lease was lost/)
    assert.equal(await findSegment(db, 'first'), undefined)
    // Whoever has the work now may be at it: the sweep takes what nobody named.
    assert.deepEqual(told.deleted, [])
  })

  test('stays away where the repository cannot be read, or it is called off', async (t) => {
    const { db, told, obtain, stopping } = await scene(t, engine)
    told.meanwhile = async () => {
      throw new Unreadable('alice/site: HEAD is missing')
    }
    await assert.rejects(obtain(), Unreadable)
    told.meanwhile = async () => stopping.abort(new Error('cancelled'))
    await assert.rejects(obtain(), /cancelled/)
    assert.equal(await findSegment(db, 'first'), undefined)
  })

  test('that was swept after it was found is not taken', async (t) => {
    const { db, obtain } = await scene(t, engine)
    await obtain()
    const swept = obtainSegment<Obtained>(
      {
        db,
        blobs: { size: async () => 1 } as Partial<BlobStore> as BlobStore,
        now: () => 1000,
        segmentCheckAgeMs: 1_000_000,
        segments: {
          look: () => Promise.reject(new Error('not asked for')),
          digest: () => Promise.reject(new Error('not asked for')),
          async make(_order, _signal, { isNeeded }) {
            assert.equal(await isNeeded({ fingerprint: 'first', bytes: 100 }), false)
            await db.deleteFrom('segments').execute()
            return undefined
          },
        },
      },
      {
        facts: FACTS,
        transact: (work) => db.transaction().execute(work),
        onEnd: async (_tx, obtained) => obtained,
      },
      new AbortController().signal,
    )
    await assert.rejects(swept, /the segment was swept/)
  })
})
