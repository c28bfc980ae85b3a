import { summarizeNames } from '@godwit/lib/names'
import { formatBytes } from '@godwit/lib/quantities'
import { walkObjects } from '../files/git-records.ts'
import { tipsOf } from '../files/read-refs.ts'
import { type Git, type GitCall, LONG_TIMEOUT_MS } from '../git.ts'
import { decodeUtf8 } from '../refs.ts'
import type { ExaminedRepository } from '../snapshot.ts'

const MIB = 2 ** 20

/** The limits that GitHub documents, in bytes. */
export const GITHUB_LIMITS = {
  /** GitHub Enterprise Importer refuses a repository with a larger file. */
  importedFile: 400 * MIB,
  /** GitHub rejects a larger file in pushes, and so after an import. */
  file: 100 * MIB,
  /** Applies to a single commit and to a push. */
  push: 2048 * MIB,
  refName: 255,
}

/** Deflate compresses at most by this factor, so a repository with few packed bytes need not be searched for large files. */
const MAX_COMPRESSION = 1032

interface SearchDependencies {
  git: Git
  /** The repository or a copy of it. */
  dir: string
  signal: AbortSignal
  limits: typeof GITHUB_LIMITS
  /** Undefined if the objects were not read. */
  mayHaveLargeFiles?: boolean | undefined
}

/** Returns warnings about names, files, commits and pushes that are too large for GitHub. */
export async function exceededLimits(
  found: ExaminedRepository,
  { git, limits, mayHaveLargeFiles, ...at }: SearchDependencies,
): Promise<string[]> {
  const packed = found.objectFiles.filter(({ path }) => !path.endsWith('.idx'))
  const bytes = packed.reduce((sum, { size }) => sum + size, 0)
  const call = { ...at, timeoutMs: LONG_TIMEOUT_MS, config: { 'core.commitGraph': 'false' } }
  const isSearched =
    mayHaveLargeFiles ?? (found.hasExternalObjects || bytes * MAX_COMPRESSION > limits.file)
  const isLarge =
    bytes > limits.push || (isSearched && (await hasLargeObject(git, limits.file, call)))
  const { files, commits } = isLarge
    ? await findLarge(git, tipsOf(found), limits, call)
    : { files: [], commits: [] }
  const isRefused = ({ size }: LargeObject) => size > limits.importedFile
  const longNames = found.refs.filter(({ name }) => name.length > limits.refName)
  return [
    ...withNames(
      `GitHub's importers refuse names of more than ${limits.refName} bytes`,
      longNames.map(({ name }) => `${decodeUtf8(name).slice(0, 60)}… (${name.length} bytes)`),
    ),
    ...withNames(
      `GitHub's importers refuse files of more than ${limits.importedFile / MIB} MiB`,
      files.filter(isRefused).map(describe),
    ),
    ...withNames(
      `GitHub rejects files of more than ${limits.file / MIB} MiB after an import`,
      files.filter((file) => !isRefused(file)).map(describe),
    ),
    ...withNames(
      `GitHub's importers refuse commits that add more than ${limits.push / MIB / 1024} GiB`,
      commits.map(describe),
    ),
    ...withNames(
      `GitHub refuses pushes of more than ${limits.push / MIB / 1024} GiB: import the repository, or push its history in parts`,
      bytes > limits.push ? [formatBytes(bytes)] : [],
    ),
  ]
}

interface LargeObject {
  name: string
  size: number
}

const describe = ({ name, size }: LargeObject) => `${name} (${formatBytes(size)})`

/** Reads the size of every object, which takes about 2 µs for each. */
async function hasLargeObject(git: Git, limit: number, call: GitCall): Promise<boolean> {
  const listing = git.start(['cat-file', '--batch-all-objects', '--unordered', SIZE_ONLY], call)
  listing.stdin.end()
  const longNumbers = new RegExp(`^\\d{${String(limit).length},}$`, 'gm')
  let isFound = false
  let rest = ''
  for await (const chunk of listing.stdout.setEncoding('latin1')) {
    const text = rest + chunk
    isFound ||= text.match(longNumbers)?.some((size: string) => Number(size) > limit) ?? false
    rest = text.slice(text.lastIndexOf('\n') + 1)
    listing.onProgress?.(chunk.length / MEAN_LINE_LENGTH)
  }
  await listing.done
  return isFound
}

const MEAN_LINE_LENGTH = 5
const SIZE_ONLY = '--batch-check=%(objectsize)'
/** Lists the oldest commits first, and each object after the first commit that contains it. */
const OLDEST_FIRST = ['--in-commit-order', '--reverse', '--topo-order']
const FORMAT = '%(objecttype) %(objectsize) %(objectsize:disk) %(objectname)'

/** Finds large files and commits. The size of a commit is that of the objects it adds as they are stored: compressed, as in a push. */
async function findLarge(
  git: Git,
  tips: readonly string[],
  limits: typeof GITHUB_LIMITS,
  call: GitCall,
): Promise<{ files: LargeObject[]; commits: LargeObject[] }> {
  const files: LargeObject[] = []
  const commits: LargeObject[] = []
  let commit = { name: '', size: 0 }
  for await (const line of walkObjects(
    git,
    { tips, options: OLDEST_FIRST, format: FORMAT },
    call,
  )) {
    const [kind, size, stored, oid, ...path] = line.split(' ')
    if (kind === 'commit') commit = { name: oid!, size: 0 }
    const wasWithinLimit = commit.size <= limits.push
    commit.size += Number(stored)
    if (wasWithinLimit && commit.size > limits.push) commits.push(commit)
    if (kind !== 'blob' || Number(size) <= limits.file) continue
    // A tag can name a file without a path, which then belongs to no commit.
    const name = path.join(' ') === '' ? oid! : `${path.join(' ')} in ${commit.name}`
    files.push({ name, size: Number(size) })
  }
  return { files, commits }
}

const MAX_NAMES = 3

/** Returns the text with the first names, or an empty list if there are no names. */
export function withNames(text: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${text}: ${summarizeNames(names, MAX_NAMES)}`]
}
