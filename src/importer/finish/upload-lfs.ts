import { join } from 'node:path'
import type { LfsFact } from '../../formats/gitea-dump/finish-facts.ts'
import { batchesOf } from '../../lib/batches.ts'
import { formatBytes, formatCount } from '../../lib/quantities.ts'
import {
  integerIn,
  type JsonObject,
  objectIn,
  objectsIn,
  stringIn,
} from '../../sources/forge/client/forge-values.ts'
import { ForgeRequestFailed } from '../../sources/forge-errors.ts'
import type { RepositoryContext } from './finish-run.ts'

const BATCH_SIZE = 100

/** Uploads the LFS objects that the server lacks, by the batch API of git-lfs. */
export async function uploadLfs(
  context: RepositoryContext,
  objects: readonly LfsFact[],
): Promise<void> {
  const { run, fullName } = context
  for (const batch of batchesOf(objects, BATCH_SIZE)) {
    const listed = await requestBatch(context, 'download', batch).catch((error: unknown) => {
      const isDisabled = error instanceof ForgeRequestFailed && error.status === 404
      const why = isDisabled ? ' (Git LFS is not enabled on the server)' : ''
      run.recordFailure(`${fullName}: ${formatCount(batch.length, 'LFS object')}${why}`, error)
      return []
    })
    const lacking = new Set(listed.flatMap((each) => (each.error ? stringIn(each, 'oid') : [])))
    for (const object of batch.filter(({ oid }) => lacking.has(oid))) {
      const text = `${fullName}: upload LFS object ${object.oid} (${formatBytes(object.size)})`
      await run.step('LFS objects', text, () => upload(context, object))
    }
  }
}

async function requestBatch(
  { run, fullName }: RepositoryContext,
  operation: 'download' | 'upload',
  batch: readonly LfsFact[],
): Promise<JsonObject[]> {
  const objects = batch.map(({ oid, size }) => ({ oid, size }))
  const request = { operation, transfers: ['basic'], objects }
  return objectsIn(await run.server.lfs(fullName, 'objects/batch', request), 'objects')
}

/** Uploads one object and lets the server verify it. A server that has it for another repository needs no upload. */
async function upload(context: RepositoryContext, object: LfsFact): Promise<void> {
  const { run, fullName, directory } = context
  const { oid, size } = object
  const [answer = {}] = await requestBatch(context, 'upload', [object])
  const refusal = objectIn(answer, 'error')
  if (refusal)
    throw new ForgeRequestFailed(integerIn(refusal, 'code'), stringIn(refusal, 'message'))
  const actions = objectIn(answer, 'actions') ?? {}
  const [link, verify] = [objectIn(actions, 'upload'), objectIn(actions, 'verify')]
  if (!link) return
  const header = Object.entries(objectIn(link, 'header') ?? {})
  const headers = Object.fromEntries(header.map(([key, value]) => [key.toLowerCase(), `${value}`]))
  const target = { href: stringIn(link, 'href'), headers }
  await run.server.uploadLfs(fullName, target, { file: join(directory, object.file), size })
  if (!verify) return
  const [, path = 'verify'] = stringIn(verify, 'href').split('/info/lfs/')
  await run.server.lfs(fullName, path, { oid, size })
}
