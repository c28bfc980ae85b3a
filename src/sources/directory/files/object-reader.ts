import type { Readable } from 'node:stream'
import type { Git, GitCall } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'

interface GitObject {
  type: string
  size: number
}

export interface WholeObject extends GitObject {
  bytes: Buffer
}

/** What is asked for many objects of one repository, each by its full name. */
export interface ObjectReader extends AsyncDisposable {
  /** In the order of the names; undefined for what is missing. */
  sizes(oids: readonly string[]): Promise<(number | undefined)[]>
  read(oids: readonly string[]): Promise<(WholeObject | undefined)[]>
}

/** Not what the quick way can read: whoever asked takes the long one, and git says what is wrong where anything is. */
export class NeedsGit extends Error {
  override name = 'Odd'
}

/** Commits, trees and licences are far smaller. */
const LARGEST_OBJECT = 4 * 1024 * 1024
const USAGE_ERROR = 129

/** Those that came before `cat-file --batch-command`, which is of 2022. */
const tooOld = new WeakSet<Git>()

/** By one git. */
export function openObjects(git: Git, call: GitCall): ObjectReader {
  if (tooOld.has(git)) throw new NeedsGit('this git is too old')
  const stop = new AbortController()
  const signal = call.signal ? AbortSignal.any([call.signal, stop.signal]) : stop.signal
  const running = git.start(['cat-file', '--batch-command', '--buffer'], { ...call, signal })
  // A git that has ended does not read any more; how it ended is told below.
  running.stdin.on('error', () => {})
  const answers = byteReader(running.stdout)

  async function ask<T>(
    command: 'info' | 'contents',
    oids: readonly string[],
    take: (answered: GitObject) => Promise<T>,
  ): Promise<(T | undefined)[]> {
    running.stdin.write(`${oids.map((oid) => `${command} ${oid}\n`).join('')}flush\n`)
    const objects: (T | undefined)[] = []
    for (const oid of oids) {
      const [name, type, size] = (await answers.line()).split(' ')
      if (name !== oid) throw new NeedsGit('an answer to something else')
      objects.push(size === undefined ? undefined : await take({ type: type!, size: Number(size) }))
    }
    return objects
  }

  return {
    sizes: (oids) => ask('info', oids, async ({ size }) => size),
    read: (oids) =>
      ask('contents', oids, async (answered) => {
        if (answered.size > LARGEST_OBJECT) throw new NeedsGit('a very large object')
        const bytes = await answers.bytes(answered.size + 1)
        return { ...answered, bytes: bytes.subarray(0, answered.size) }
      }),
    async [Symbol.asyncDispose]() {
      running.stdin.end()
      // What was not asked for to its end is not waited for.
      if (!answers.isEmpty()) stop.abort()
      await running.done.catch((error: unknown) => {
        if (error instanceof GitFailed && error.exitCode === USAGE_ERROR) tooOld.add(git)
      })
    },
  }
}

function byteReader(stream: Readable) {
  const chunks = stream.iterator() as AsyncIterator<Buffer>
  let rest: Buffer = Buffer.alloc(0)

  async function more(): Promise<void> {
    const next = await chunks.next()
    if (next.done) throw new NeedsGit('git ended before its answer')
    rest = rest.length === 0 ? next.value : Buffer.concat([rest, next.value])
  }

  function take(length: number): Buffer {
    const taken = rest.subarray(0, length)
    rest = rest.subarray(length)
    return taken
  }

  return {
    isEmpty: () => rest.length === 0,
    async line(): Promise<string> {
      while (!rest.includes(10)) await more()
      return take(rest.indexOf(10) + 1)
        .toString('latin1')
        .trimEnd()
    },
    async bytes(length: number): Promise<Buffer> {
      while (rest.length < length) await more()
      return take(length)
    },
  }
}
