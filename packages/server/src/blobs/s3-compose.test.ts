import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noise } from '../../../../test/support/archive-samples.ts'
import type { BlobPart } from './blob-store.ts'
import type { Bucket } from './s3-bucket.ts'
import { composeObject, type PlannedPart, planParts, S3_LIMITS } from './s3-compose.ts'

const LIMITS = { minBytes: 50, maxBytes: 400, maxParts: 12 }

/** Reproducible numbers for a seed. Lengths are often small or near a limit. */
function numbers(seed: number) {
  const bytes = noise(40_000, seed)
  let drawn = 0
  function next(): number {
    drawn += 1
    return bytes.readUInt32LE((4 * drawn) % bytes.length)
  }
  const near = [0, 1, LIMITS.minBytes, 2 * LIMITS.minBytes, LIMITS.maxBytes, 2 * LIMITS.maxBytes]
  return {
    below: (most: number) => next() % most,
    length: (): number =>
      [
        () => next() % 20,
        () => next() % (3 * LIMITS.minBytes),
        () => next() % (4 * LIMITS.maxBytes),
        () => Math.max(0, near[next() % near.length]! + (next() % 3) - 1),
      ][next() % 4]!(),
  }
}

const SOURCES = new Map<number, ReturnType<typeof drawSources>>()

/** Cached, because drawing them takes longer than the tests. */
function randomSources(seed: number) {
  const sources = SOURCES.get(seed) ?? drawSources(seed)
  SOURCES.set(seed, sources)
  return sources
}

/** Blobs of random bytes, and the parts that refer to them. */
function drawSources(seed: number) {
  const { below, length } = numbers(seed)
  const blobs = new Map<string, Buffer>()
  const sources = Array.from({ length: below(60) }, (_, n): BlobPart => {
    const bytes = noise(length(), seed * 100 + n)
    if (below(8) === 0) return { bytes, length: bytes.length }
    blobs.set(`blob-${n}`, bytes)
    return { key: `blob-${n}`, length: bytes.length }
  })
  const whole = Buffer.concat(
    sources.map((source) => ('bytes' in source ? source.bytes : blobs.get(source.key)!)),
  )
  return { sources, blobs, whole }
}

/** The object that a server makes from the parts. */
function joined(parts: readonly PlannedPart[], blobs: ReadonlyMap<string, Buffer>): Buffer {
  const slice = (key: string, { start, end }: { start: number; end: number }) =>
    blobs.get(key)!.subarray(start, end)
  return Buffer.concat(
    parts.flatMap((part) =>
      part.kind === 'copied'
        ? [slice(part.key, part.range)]
        : part.pieces.map((each) => ('bytes' in each ? each.bytes : slice(each.key, each.range))),
    ),
  )
}

function assertWithinLimits(parts: readonly PlannedPart[], { minBytes, maxBytes } = LIMITS): void {
  for (const [index, { kind, length }] of parts.entries()) {
    const isLast = index === parts.length - 1
    assert.ok(length >= (isLast ? 1 : minBytes), `part ${index} of ${length} is too small`)
    assert.ok(length <= (kind === 'copied' ? maxBytes : minBytes), `part ${index} is too large`)
  }
}

const lengthOf = (parts: readonly { length: number }[]) =>
  parts.reduce((sum, { length }) => sum + length, 0)

test('the planned parts are the sources in order, each within the limits', () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const { sources, blobs, whole } = randomSources(seed)
    const parts = planParts(sources, LIMITS)
    assertWithinLimits(parts)
    assert.ok(joined(parts, blobs).equals(whole), `seed ${seed}`)
    for (const part of parts) {
      assert.equal(joined([part], blobs).length, part.length)
      const isWhole = part.kind === 'copied' && part.length === blobs.get(part.key)!.length
      if (part.kind === 'copied') assert.equal(part.isWholeObject, isWhole)
    }
  }
})

test('less than twice the minimum part size of a large blob is uploaded', () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const { sources } = randomSources(seed)
    const parts = planParts(sources, LIMITS)
    const uploaded = new Map<string, number>()
    for (const part of parts) {
      for (const piece of part.kind === 'uploaded' ? part.pieces : []) {
        if ('bytes' in piece) continue
        const { start, end } = piece.range
        uploaded.set(piece.key, (uploaded.get(piece.key) ?? 0) + end - start)
      }
    }
    for (const [key, bytes] of uploaded) assert.ok(bytes < 2 * LIMITS.minBytes, `${key}: ${bytes}`)
  }
})

test('more parts than one upload accepts are not composed', async () => {
  const sources = Array.from({ length: 13 }, (_, n) => ({ key: `blob-${n}`, length: 100 }))
  const untouched = {} as Bucket
  assert.equal(await composeObject(untouched, 'archive', sources, LIMITS, undefined), false)
})

test('two thousand repositories with the limits of S3', () => {
  const { below } = numbers(1)
  const sources: BlobPart[] = Array.from({ length: 2000 }, (_, n) => ({
    key: `blob-${n}`,
    // One in twenty of up to 20 GiB, the others of up to 300 KiB.
    length: n % 20 === 0 ? below(2 ** 32) * 5 : below(300 * 1024),
  }))
  const header = { bytes: Buffer.alloc(10), length: 10 }
  const parts = planParts([header, ...sources], S3_LIMITS)
  assertWithinLimits(parts, { ...S3_LIMITS })
  assert.equal(lengthOf(parts), lengthOf([header, ...sources]))
  assert.ok(parts.length < S3_LIMITS.maxParts)
  const uploaded = lengthOf(parts.filter(({ kind }) => kind === 'uploaded'))
  // A tenth of a percent: the small ones, and a head of at most 5 MiB of each large one.
  assert.ok(uploaded < lengthOf(parts) / 1000, `${uploaded} of ${lengthOf(parts)}`)
})

test('no sources, an empty source and a source of one byte', () => {
  assert.deepEqual(planParts([], LIMITS), [])
  assert.deepEqual(planParts([{ key: 'empty', length: 0 }], LIMITS), [])
  const range = { start: 0, end: 1 }
  assert.deepEqual(planParts([{ key: 'tiny', length: 1 }], LIMITS), [
    { kind: 'uploaded', pieces: [{ key: 'tiny', range }], length: 1 },
  ])
})
