import type { Readable } from 'node:stream'
import type { Git, GitCall } from '../../../git/git.ts'
import { Unreadable } from '../../unreadable.ts'

const LONGEST_RECORD = 1024 * 1024

/** What git writes, record by record as it comes, so that a million refs take no more memory than one. */
export async function* gitRecords(
  git: Git,
  args: readonly string[],
  separator: '\n' | '\0',
  call: GitCall,
): AsyncGenerator<string, void, void> {
  const running = git.start(args, call)
  running.stdin.end()
  yield* recordsIn(running.stdout, separator)
  await running.done
}

/** The same of a git that was started already. */
export async function* recordsIn(
  stdout: Readable,
  separator: '\n' | '\0',
): AsyncGenerator<string, void, void> {
  let rest = ''
  // Latin-1 keeps bytes apart from characters until a record is whole.
  for await (const chunk of stdout.setEncoding('latin1') as AsyncIterable<string>) {
    const records = (rest + chunk).split(separator)
    rest = records.pop()!
    for (const record of records) yield Buffer.from(record, 'latin1').toString()
    if (rest.length > LONGEST_RECORD) throw new Unreadable('git lists a name of endless length')
  }
}

/** In the order of their names; undefined for one that is missing. */
export async function readBlobs(
  git: Git,
  oids: readonly string[],
  call: GitCall,
): Promise<(Buffer | undefined)[]> {
  if (oids.length === 0) return []
  const input = oids.map((oid) => `${oid}\n`).join('')
  return [...blobs(await git.run(['cat-file', '--batch'], { ...call, input }))]
}

/** `<oid> blob <size>`, the bytes, a line end; and so on. A missing one is a line without a size. */
function* blobs(batch: Buffer): Generator<Buffer | undefined, void, void> {
  for (let at = 0; at < batch.length; ) {
    const start = batch.indexOf('\n', at) + 1
    const size = / blob (\d+)$/.exec(batch.toString('latin1', at, start - 1))?.[1]
    const end = start + Number(size ?? -1)
    yield size === undefined ? undefined : batch.subarray(start, end)
    at = end + 1
  }
}
