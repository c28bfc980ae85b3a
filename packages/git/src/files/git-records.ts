import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Git, type GitCall, PROGRESS } from '../git.ts'
import { Unreadable } from '../unreadable.ts'

export type RepositoryCall = GitCall & { dir: string }

const MAX_RECORD_BYTES = 1024 * 1024

/** Runs git and yields its output record by record, so that memory does not grow with the number of refs. */
export async function* gitRecords(
  git: Git,
  args: readonly string[],
  separator: '\n' | '\0',
  call: GitCall,
): AsyncGenerator<string, void, void> {
  const running = git.start(args, call)
  running.stdin.end()
  yield* splitRecords(running.stdout, separator)
  await running.done
}

/** Splits the output of a running git process into records. Output after the last separator is ignored. */
async function* splitRecords(
  stdout: Readable,
  separator: '\n' | '\0',
): AsyncGenerator<string, void, void> {
  let rest = ''
  // Latin-1 maps each byte to one character, so a UTF-8 character that is split between two chunks is not damaged.
  for await (const chunk of stdout.setEncoding('latin1') as AsyncIterable<string>) {
    const records = (rest + chunk).split(separator)
    rest = records.pop()!
    for (const record of records) yield Buffer.from(record, 'latin1').toString()
    if (rest.length > MAX_RECORD_BYTES)
      throw new Unreadable('git printed a record of more than 1 MiB')
  }
}

/**
 * Yields the objects that the tips reach, each as a line of `cat-file --batch-check` in this format and then the path. Memory use
 * does not depend on their number.
 */
export async function* walkObjects(
  git: Git,
  { tips, options, format }: { tips: readonly string[]; options: string[]; format: string },
  call: GitCall,
): AsyncGenerator<string, void, void> {
  if (tips.length === 0) return
  const listing = git.start(['rev-list', '--objects', PROGRESS, ...options, '--stdin'], call)
  // `done` rejects with the reason.
  listing.stdin.on('error', () => {})
  listing.stdin.end(`${tips.join('\n')}\n`)
  const sizing = git.start(['cat-file', `--batch-check=${format} %(rest)`], call)
  const piped = pipeline(listing.stdout, sizing.stdin).catch(() => {})
  yield* splitRecords(sizing.stdout, '\n')
  await piped
  await listing.done
  await sizing.done
}

/** Returns the contents of blobs in the order of `oids`; undefined for a missing blob. */
export async function readBlobs(
  git: Git,
  oids: readonly string[],
  call: GitCall,
): Promise<(Buffer | undefined)[]> {
  if (oids.length === 0) return []
  const input = oids.map((oid) => `${oid}\n`).join('')
  return [...parseBatch(await git.run(['cat-file', '--batch'], { ...call, input }))]
}

/**
 * Parses the output of `git cat-file --batch`. A blob is a line `<oid> blob <size>`, its bytes and a newline. A missing blob is a
 * line `<oid> missing`.
 */
function* parseBatch(batch: Buffer): Generator<Buffer | undefined, void, void> {
  for (let at = 0; at < batch.length; ) {
    const start = batch.indexOf('\n', at) + 1
    const size = / blob (\d+)$/.exec(batch.toString('latin1', at, start - 1))?.[1]
    const end = start + Number(size ?? -1)
    yield size === undefined ? undefined : batch.subarray(start, end)
    at = end + 1
  }
}
