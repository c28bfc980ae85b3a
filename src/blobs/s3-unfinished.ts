import { type MultipartUpload, type Part, paginateListObjectsV2 } from '@aws-sdk/client-s3'
import { isBlobKey } from './blob-store.ts'
import { type Bucket, isClientError } from './s3-bucket.ts'
import type { Upload } from './s3-multipart.ts'

const PIECES = 'unfinished/'

/** Where run `n` of a blob that is being composed lies meanwhile: no blob's key, so that nobody takes it for one. */
export const pieceKey = (key: string, n: number): string => `${PIECES}${key}/${n}`

/** What there is of a blob that is not finished. */
interface Remains {
  uploads: (Upload & { begunAt: number })[]
  pieces: { name: string; madeAt: number }[]
}

/** Removes what was left behind and not added to since then; answers how many blobs were not finished. */
export async function sweepUnfinishedUploads(bucket: Bucket, before: number): Promise<number> {
  let swept = 0
  for (const remains of (await allRemains(bucket)).values()) {
    if ((await lastSign(bucket, remains)) > before) continue
    for (const { Bucket, Key, UploadId } of remains.uploads) {
      await bucket.s3.abortMultipartUpload({ Bucket, Key, UploadId }).catch(unlessGone)
    }
    for (const { name: Key } of remains.pieces) {
      await bucket.s3.deleteObject({ Bucket: bucket.name, Key })
    }
    swept += 1
  }
  return swept
}

async function allRemains(bucket: Bucket): Promise<Map<string, Remains>> {
  const found = new Map<string, Remains>()
  function remainsOf(name: string): Remains | undefined {
    const key = ownerOf(name.slice(bucket.prefix.length))
    if (!isBlobKey(key)) return undefined
    const remains = found.get(key) ?? { uploads: [], pieces: [] }
    found.set(key, remains)
    return remains
  }
  for await (const { Key, UploadId, Initiated } of allUploads(bucket)) {
    const upload = { Bucket: bucket.name, Key: Key!, UploadId: UploadId! }
    remainsOf(Key!)?.uploads.push({ ...upload, begunAt: Initiated!.getTime() })
  }
  const below = { Bucket: bucket.name, Prefix: bucket.prefix + PIECES }
  for await (const { Contents = [] } of paginateListObjectsV2({ client: bucket.s3 }, below)) {
    for (const { Key, LastModified } of Contents) {
      remainsOf(Key!)?.pieces.push({ name: Key!, madeAt: LastModified!.getTime() })
    }
  }
  return found
}

/** The blob's key, of its own name or of a piece's. */
const ownerOf = (name: string): string =>
  name.startsWith(PIECES) ? name.slice(PIECES.length).replace(/\/\d+$/, '') : name

async function* allUploads({ s3, name, prefix }: Bucket): AsyncGenerator<MultipartUpload> {
  const asked = { Bucket: name, Prefix: prefix }
  let page = await s3.listMultipartUploads(asked)
  yield* page.Uploads ?? []
  while (page.IsTruncated) {
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
    page = await s3.listMultipartUploads({ ...asked, KeyMarker, UploadIdMarker })
    yield* page.Uploads ?? []
  }
}

/** A put that is alive goes on sending parts, so the newest of them is never old, however long ago it began. */
async function lastSign(bucket: Bucket, { uploads, pieces }: Remains): Promise<number> {
  let newest = Number.NEGATIVE_INFINITY
  const see = (at: number) => {
    newest = Math.max(newest, at)
  }
  for (const { begunAt } of uploads) see(begunAt)
  for (const { madeAt } of pieces) see(madeAt)
  for (const { begunAt: _, ...upload } of uploads) {
    try {
      for await (const { LastModified } of allParts(bucket, upload)) see(LastModified!.getTime())
    } catch (error) {
      unlessGone(error)
    }
  }
  return newest
}

/** The SDK's own way through the pages goes by the next marker, which some servers give on the last page as well. */
async function* allParts({ s3 }: Bucket, upload: Upload): AsyncGenerator<Part> {
  let page = await s3.listParts(upload)
  yield* page.Parts ?? []
  while (page.IsTruncated) {
    page = await s3.listParts({ ...upload, PartNumberMarker: page.NextPartNumberMarker })
    yield* page.Parts ?? []
  }
}

function unlessGone(error: unknown): void {
  if (!isClientError(error, 'NoSuchUpload')) throw error
}
