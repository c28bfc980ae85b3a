import type { Git, GitCall } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import type { LicenseFile } from '../../source.ts'
import { gitRecords, readBlobs } from '../files/git-records.ts'
import { languageTally } from './main-language.ts'
import { recogniseLicense } from './recognise-license.ts'
import type { RepositoryCall } from './repository-refs.ts'

export interface TreeFacts {
  language: string | null
  license: string | null
}

export interface TreeFile {
  oid: string
  path: string
  size: number
}

/** In this order: a project under the LGPL has the GPL in COPYING, and its own terms in COPYING.LESSER. */
const LICENSE_FILES = [
  /^licen[cs]e(?:\.(?:md|txt|rst))?$/i,
  /^copying\.lesser/i,
  /^(?:licen[cs]e|copying|unlicen[cs]e)(?:[.-]|$)/i,
]
/** A few small trees can stand for billions of files; so many tell enough. */
const MAX_FILES = 250_000
const MAX_LICENSE_FILES = 4
const LARGEST_LICENSE = 128 * 1024

/** Of blobs, in the order of their names; undefined for one that is missing. */
type ReadBytes = (oids: string[]) => Promise<(Buffer | undefined)[]>

/** What the files of a commit are mostly written in, and what its licence file says. */
export async function factsOfTree(
  files: Iterable<TreeFile> | AsyncIterable<TreeFile>,
  readBytes: ReadBytes,
): Promise<TreeFacts> {
  const { tally, licenses } = await countFiles(files)
  const { license = null } = (await licenseAmong(licenses, readBytes)) ?? {}
  return { language: tally.main(), license }
}

/** The same by two processes, however large the tree. */
export function readTree(git: Git, commit: string, call: GitCall): Promise<TreeFacts> {
  return factsOfTree(listFiles(git, commit, call), (oids) => readBlobs(git, oids, call))
}

async function countFiles(files: Iterable<TreeFile> | AsyncIterable<TreeFile>) {
  const tally = await languageTally()
  const licenses: TreeFile[] = []
  let count = 0
  for await (const file of files) {
    if (++count > MAX_FILES) break
    tally.add(file.path, file.size)
    if (isLicense(file)) licenses.push(file)
  }
  return { tally, licenses }
}

/** The first whose text is that of a known licence, else the likeliest by its name. */
async function licenseAmong(
  files: readonly TreeFile[],
  readBytes: ReadBytes,
): Promise<LicenseFile | undefined> {
  if (files.length === 0) return undefined
  const best = files
    .toSorted((a, b) => licenseRank(a.path) - licenseRank(b.path))
    .slice(0, MAX_LICENSE_FILES)
  const read = await readBytes(best.map(({ oid }) => oid))
  let first: LicenseFile | undefined
  for (const [at, { path, oid }] of best.entries()) {
    const bytes = read[at]
    if (!bytes) continue
    const license = await recogniseLicense(bytes.toString())
    if (license !== null) return { path, oid, bytes, license }
    first ??= { path, oid, bytes, license }
  }
  return first
}

async function* listFiles(
  git: Git,
  commit: string,
  call: GitCall,
  how = ['-r', '--full-tree'],
): AsyncGenerator<TreeFile> {
  const args = ['ls-tree', '-l', '-z', ...how, commit]
  for await (const record of gitRecords(git, args, '\0', call)) {
    const [, oid, size, path] = /^100\d{3} blob (\w+) +(\d+)\t(.*)$/s.exec(record) ?? []
    if (oid === undefined || path === undefined) continue // a link, a submodule, a blob of unknown size
    yield { oid, path, size: Number(size) }
  }
}

function licenseRank(path: string): number {
  return path.includes('/') ? -1 : LICENSE_FILES.findIndex((pattern) => pattern.test(path))
}

const isLicense = ({ path, size }: TreeFile): boolean =>
  licenseRank(path) !== -1 && size <= LARGEST_LICENSE

/** Bytes by language of what HEAD names, the largest first; nothing while its branch is unborn. */
export async function readLanguages(
  git: Git,
  call: RepositoryCall,
): Promise<Record<string, number>> {
  const head = await headCommit(git, call)
  return head === undefined ? {} : (await countFiles(listFiles(git, head, call))).tally.all()
}

/** The file whose text the licence was recognised by, or the likeliest one. */
export async function readLicenseFile(
  git: Git,
  call: RepositoryCall,
): Promise<LicenseFile | undefined> {
  const head = await headCommit(git, call)
  if (head === undefined) return undefined
  const files: TreeFile[] = []
  for await (const file of listFiles(git, head, call, ['--full-tree']))
    if (isLicense(file)) files.push(file)
  return licenseAmong(files, (oids) => readBlobs(git, oids, call))
}

async function headCommit(git: Git, call: RepositoryCall): Promise<string | undefined> {
  try {
    return (await git.text(['rev-parse', '--verify', '--quiet', 'HEAD'], call)).trim()
  } catch (error) {
    if (error instanceof GitFailed && error.exitCode === 1) return undefined
    throw error
  }
}
