import { randomUUID } from 'node:crypto'
import { findMergeBase, type GitRepository } from '@godwit/git/commits-and-refs'
import { LONG_TIMEOUT_MS } from '@godwit/git/git'
import { UNKNOWN_TIME } from '../../records/record.ts'

/** GitLab's default limits for the diff of one merge request. A longer patch of a file is left out, and so are further files. */
const MAX_FILES = 1000
const MAX_LINES = 50_000
const MAX_BYTES = MAX_FILES * 5 * 1024
const MAX_PATCH_BYTES = 200 * 1024
/** GitLab has no such limit. It bounds the memory for a pull request between unrelated branches. */
const MAX_COMMITS = 5000

/** The marker (`>` or `-` for a boundary) and the id of a commit, one field on each line, then the message. */
const LOG_FORMAT = '%m%H%n%at%n%an%n%ae%n%ct%n%cn%n%ce%n%B'

export type CommitRange = NonNullable<Awaited<ReturnType<typeof readCommits>>>

/**
 * Returns the commits of `head` that `start` does not contain, or undefined if the two have no common ancestor. `start` is the id of a
 * commit, or an expression such as `ID^1`.
 */
export async function readCommits(
  { git, dir, signal }: GitRepository,
  start: string,
  head: string,
) {
  const options = ['--boundary', '-z', `--max-count=${MAX_COMMITS + 1}`, `--format=${LOG_FORMAT}`]
  const log = await git.text(['log', ...options, `${start}..${head}`, '--'], { dir, signal })
  const records = log.split('\0').filter((record) => record !== '')
  const commits = records.filter((record) => record.startsWith('>'))
  const boundary = records.filter((record) => record.startsWith('-'))
  const isComplete = commits.length <= MAX_COMMITS
  // Without commits, `start` contains `head`. Otherwise every path to a common ancestor leads through a boundary commit, so a single
  // one is the merge base.
  const base =
    commits.length === 0
      ? head
      : isComplete && boundary.length === 1
        ? boundary[0]!.slice(1).split('\n')[0]
        : await findMergeBase({ git, dir, signal }, start, head)
  if (!base) return undefined
  return {
    /** The merge base. */
    base,
    /** The commit of the target branch, or the merge base if the caller did not have its id. */
    start: /^\w+$/.test(start) ? start : base,
    head,
    /** Records of `merge_request_diff_commits`, the newest first. */
    commits: commits.slice(0, MAX_COMMITS).map(parseCommit),
    /** False if there are more than `MAX_COMMITS`. */
    isComplete,
  }
}

function parseCommit(record: string, index: number) {
  const [id = '', authored, authorName, authorEmail, committed, name, email, ...message] =
    record.split('\n')
  const author = { name: authorName ?? '', email: authorEmail ?? '' }
  const committer = { name: name ?? '', email: email ?? '' }
  return {
    relative_order: index,
    sha: id.slice(1),
    message: message.join('\n'),
    authored_date: timeOf(authored),
    committed_date: timeOf(committed),
    // Older servers read these four fields, newer ones the two objects.
    author_name: author.name,
    author_email: author.email,
    committer_name: committer.name,
    committer_email: committer.email,
    commit_author: author,
    committer,
  }
}

/** Returns the time of a commit. In a damaged commit it can be missing, or any number. */
function timeOf(seconds: string | undefined): string {
  const time = new Date(Number(seconds || Number.NaN) * 1000)
  return Number.isNaN(time.getTime()) ? UNKNOWN_TIME : time.toISOString()
}

/** A record of `merge_request_diff_files`. */
export type DiffFile = ReturnType<typeof toDiffFile>

export interface Diff {
  files: DiffFile[]
  /** False if a limit of GitLab cut the list of files. */
  isComplete: boolean
}

export type DiffReader = ReturnType<typeof openDiffs>

const DIFF_ARGS = [
  ...['diff-tree', '--stdin', '-r', '-p', '--raw', '-z', '--full-index', '--find-renames=30%'],
  ...['--no-ext-diff', '--no-textconv', '--no-color'],
]
const [NUL, NEWLINE] = [0, 10]

/** Compares commits of one repository, one pair after another, with a single process. */
export function openDiffs({ git, dir, signal }: GitRepository) {
  // Git writes a line of its input that is not an object id to its output. This random one marks the end of a diff.
  const endMarker = `#${randomUUID()}`
  // A larger file is compared as a binary one, without reading it into memory.
  const config = { 'core.bigFileThreshold': '20m' }
  const running = git.start(DIFF_ARGS, { dir, signal, config, timeoutMs: LONG_TIMEOUT_MS })
  // If git has failed, `done` has the reason.
  running.stdin.on('error', () => {})
  const output = running.stdout[Symbol.asyncIterator]()
  let buffer: Buffer = Buffer.alloc(0)

  async function readMore(): Promise<void> {
    const { done, value } = await output.next()
    if (done) {
      await running.done
      throw new Error('git diff-tree ended early')
    }
    buffer = value
  }

  /** Returns the bytes before the delimiter. If they exceed `MAX_PATCH_BYTES`, only a first part is returned, which exceeds it too. */
  async function take(delimiter: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let length = 0; ; ) {
      const at = buffer.indexOf(delimiter)
      const part = at === -1 ? buffer : buffer.subarray(0, at)
      if (length <= MAX_PATCH_BYTES) parts.push(part)
      length += part.length
      buffer = at === -1 ? buffer.subarray(buffer.length) : buffer.subarray(at + 1)
      if (at !== -1) return parts.length === 1 ? part : Buffer.concat(parts)
      await readMore()
    }
  }

  async function read(base: string, head: string): Promise<Diff> {
    // Git reads a commit and its parent.
    running.stdin.write(`${head} ${base}\n${endMarker}\n`)
    while (buffer.length === 0) await readMore()
    if (buffer[0] === endMarker.charCodeAt(0)) {
      await take(NEWLINE)
      return { files: [], isComplete: true }
    }
    // The output is the id of the commit, an entry for each file, an empty entry, and the patches.
    await take(NUL)
    const changes: FileChange[] = []
    let count = 0
    for (let bytes = await take(NUL); bytes.length > 0; bytes = await take(NUL)) {
      const entry = bytes.toString('latin1')
      const parsed = parseChange(entry, decode(await take(NUL)))
      const renamed = /[RC]\d*$/.test(entry) ? decode(await take(NUL)) : undefined
      for (const change of parsed)
        if (count++ < MAX_FILES) changes.push({ ...change, newPath: renamed ?? change.newPath })
    }
    let current = -1
    for (;;) {
      const line = await take(NEWLINE)
      if (line.length === endMarker.length && line.toString('latin1') === endMarker) break
      if (line.subarray(0, 11).toString('latin1') === 'diff --git ') current++
      else addLine(changes[current], line)
    }
    return withinLimits(changes, count)
  }

  return {
    read,
    async [Symbol.asyncDispose]() {
      running.stdin.end()
      // `read` has thrown the reason of a failure.
      await running.done.catch(() => {})
    },
  }
}

interface FileChange {
  oldMode: string
  newMode: string
  oldPath: string
  newPath: string
  /** The lines from the first `@@`, or the one line of a binary file. */
  patch: Buffer[]
  bytes: number
}

/** Parses an entry of the raw format. A file that became a link, or the reverse, is deleted and created, as in the patch. */
function parseChange(raw: string, path: string): FileChange[] {
  const [oldMode = '', newMode = '', , , status = ''] = raw.slice(1).split(' ')
  const change = { oldPath: path, newPath: path, patch: [], bytes: 0 }
  if (!status.startsWith('T')) return [{ ...change, oldMode, newMode }]
  return [
    { ...change, oldMode, newMode: ABSENT },
    { ...change, oldMode: ABSENT, newMode, patch: [] },
  ]
}

const ABSENT = '000000'

function addLine(change: FileChange | undefined, line: Buffer): void {
  if (!change) return
  const isFirst = change.patch.length === 0
  if (isFirst && !/^(?:@@|Binary files )/.test(line.subarray(0, 13).toString('latin1'))) return
  change.bytes += line.length + 1
  if (change.bytes <= MAX_PATCH_BYTES) change.patch.push(line)
}

/** Returns the files up to the limits of GitLab. `count` is the number of all changed files. */
function withinLimits(changes: readonly FileChange[], count: number): Diff {
  const files: DiffFile[] = []
  let [lines, bytes] = [0, 0]
  for (const change of changes) {
    const file = toDiffFile(change, files.length)
    lines += file.too_large ? 0 : change.patch.length
    bytes += file.utf8_diff.length
    if (lines > MAX_LINES || bytes > MAX_BYTES) return { files, isComplete: false }
    files.push(file)
  }
  return { files, isComplete: count <= MAX_FILES }
}

function toDiffFile(
  { oldMode, newMode, oldPath, newPath, patch, bytes }: FileChange,
  order: number,
) {
  const isTooLarge = bytes > MAX_PATCH_BYTES
  const text = isTooLarge ? '' : decode(Buffer.concat(patch.flatMap((line) => [line, LINE_END])))
  return {
    relative_order: order,
    new_file: oldMode === ABSENT,
    renamed_file: oldPath !== newPath,
    deleted_file: newMode === ABSENT,
    too_large: isTooLarge,
    binary: text.startsWith('Binary files '),
    a_mode: oldMode === ABSENT ? '0' : oldMode,
    b_mode: newMode === ABSENT ? '0' : newMode,
    old_path: oldPath,
    new_path: newPath,
    utf8_diff: text,
  }
}

const LINE_END = Buffer.from('\n')
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** GitLab guesses the encoding of text that is not UTF-8. Most often it is Latin-1. */
function decode(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    return bytes.toString('latin1')
  }
}
