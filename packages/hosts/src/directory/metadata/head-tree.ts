import { gitRecords, type RepositoryCall, readBlobs } from '@godwit/git/files/git-records'
import type { Git, GitCall } from '@godwit/git/git'
import type { LicenseFile } from '../../source.ts'
import { languageCounter } from './main-language.ts'

export interface TreeMetadata {
  language: string | null
  license: string | null
}

export interface TreeFile {
  oid: string
  path: string
  size: number
}

/** In order of preference: a project under the LGPL has the GPL in COPYING, and its own terms in COPYING.LESSER. */
const LICENSE_FILES = [
  /^licen[cs]e(?:\.(?:md|txt|rst))?$/i,
  /^copying\.lesser/i,
  /^(?:licen[cs]e|copying|unlicen[cs]e)(?:[.-]|$)/i,
]
/** A few small trees can represent billions of files; this many are enough to find the main language. */
const MAX_FILES = 250_000
const MAX_LICENSE_FILES = 4
const MAX_LICENSE_BYTES = 128 * 1024

/** Returns the contents of blobs in the order of `oids`; undefined for a missing blob. */
type ReadBlobs = (oids: string[]) => Promise<(Buffer | undefined)[]>

/** Returns the main language of a commit's files, and the licence that its licence file states. */
export async function metadataOfTree(
  files: Iterable<TreeFile> | AsyncIterable<TreeFile>,
  readContents: ReadBlobs,
): Promise<TreeMetadata> {
  const { counter, licenses } = await countFiles(files)
  const { license = null } = (await findLicense(licenses, readContents)) ?? {}
  return { language: counter.main(), license }
}

/** Reads the metadata of a tree of any size with two git processes. */
export function readTree(git: Git, commit: string, call: GitCall): Promise<TreeMetadata> {
  return metadataOfTree(listFiles(git, commit, call), (oids) => readBlobs(git, oids, call))
}

async function countFiles(files: Iterable<TreeFile> | AsyncIterable<TreeFile>) {
  const counter = languageCounter()
  const licenses: TreeFile[] = []
  let count = 0
  for await (const file of files) {
    if (++count > MAX_FILES) break
    counter.add(file.path, file.size)
    if (isLicenseFile(file)) licenses.push(file)
  }
  return { counter, licenses }
}

/** Returns the first file with the text of a known licence, otherwise the file with the preferred name. */
async function findLicense(
  files: readonly TreeFile[],
  readContents: ReadBlobs,
): Promise<LicenseFile | undefined> {
  if (files.length === 0) return undefined
  const best = files
    .toSorted((a, b) => licenseRank(a.path) - licenseRank(b.path))
    .slice(0, MAX_LICENSE_FILES)
  const read = await readContents(best.map(({ oid }) => oid))
  let first: LicenseFile | undefined
  for (const [index, { path, oid }] of best.entries()) {
    const bytes = read[index]
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
  options = ['-r', '--full-tree'],
): AsyncGenerator<TreeFile> {
  const args = ['ls-tree', '-l', '-z', ...options, commit]
  for await (const record of gitRecords(git, args, '\0', call)) {
    const [, oid, size, path] = /^100\d{3} blob (\w+) +(\d+)\t(.*)$/s.exec(record) ?? []
    if (oid === undefined || path === undefined) continue // a link, a submodule or a missing blob
    yield { oid, path, size: Number(size) }
  }
}

function licenseRank(path: string): number {
  return path.includes('/') ? -1 : LICENSE_FILES.findIndex((pattern) => pattern.test(path))
}

const isLicenseFile = ({ path, size }: TreeFile): boolean =>
  licenseRank(path) !== -1 && size > 0 && size <= MAX_LICENSE_BYTES

/** Returns the bytes by language at HEAD, the largest first; empty while its branch has no commit. */
export async function readLanguages(
  git: Git,
  call: RepositoryCall,
): Promise<Record<string, number>> {
  const head = await readHeadCommit(git, call)
  return head === undefined ? {} : (await countFiles(listFiles(git, head, call))).counter.all()
}

/** Returns the licence file at HEAD, as `findLicense` chooses it. */
export async function readLicenseFile(
  git: Git,
  call: RepositoryCall,
): Promise<LicenseFile | undefined> {
  const head = await readHeadCommit(git, call)
  if (head === undefined) return undefined
  const files: TreeFile[] = []
  for await (const file of listFiles(git, head, call, ['--full-tree']))
    if (isLicenseFile(file)) files.push(file)
  return findLicense(files, (oids) => readBlobs(git, oids, call))
}

async function readHeadCommit(git: Git, call: RepositoryCall): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', 'HEAD']
  return (await git.text(args, { ...call, mayFindNothing: true })).trim() || undefined
}

/** The minimum similarity to a known licence, measured on the licence files of a few hundred published packages. */
const MIN_SIMILARITY = 0.92

/** A file with fewer words, such as `see the README`, is not compared. */
const MIN_WORDS = 20

let knownLicenses: ReturnType<typeof loadLicenses> | undefined

/** Returns the SPDX id of the licence that shares most words with the text; null if none is similar enough. */
export async function recogniseLicense(text: string): Promise<string | null> {
  const words = distinctWords(text)
  if (words.size < MIN_WORDS) return null
  knownLicenses ??= loadLicenses()
  let best: string | null = null
  let bestScore = MIN_SIMILARITY
  // The known licences are in order of preference: the first of equals wins.
  for (const known of await knownLicenses) {
    const score = similarity(words, known.words, bestScore)
    if (score > bestScore) {
      best = known.id
      bestScore = score
    }
  }
  return best
}

/** The texts take megabytes of memory and most processes never need them, so they are loaded on first use. */
async function loadLicenses() {
  const { default: licenses } = await import('spdx-license-list/full.js')
  const ids = Object.keys(licenses).filter((id) => plainId(id) === id || !(plainId(id) in licenses))
  // Of ids with the same text the shortest is the usual one: MPL-2.0 before MPL-2.0-no-copyleft-exception.
  ids.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return ids.flatMap((id) =>
    variantsOf(licenses[id]!.licenseText).map((variant) => ({ id, words: distinctWords(variant) })),
  )
}

/** GitHub's API uses GPL-3.0 where SPDX, since 2018, has -only and -or-later, which share one text. */
function plainId(id: string): string {
  return id.replace(/(?:-only|-or-later|\+)$/, '')
}

/** Many licence files omit what follows the terms: how to apply them, or the GPL that the LGPL extends. */
function variantsOf(text: string): string[] {
  const [terms, ...appendix] = text.split(/^\s*END OF TERMS AND CONDITIONS/m)
  const [lesser, ...gpl] = text.split(/^GNU GENERAL PUBLIC LICENSE\s+Version 3/m)
  return [
    text,
    ...(appendix.length > 0 ? [terms!] : []),
    ...(gpl.length > 0 && lesser!.includes('LESSER') ? [lesser!] : []),
  ]
}

/** Omits what differs between projects: the copyright holder and year, links, and comments in Markdown. */
function distinctWords(text: string): Set<string> {
  const terms = text
    .toLowerCase()
    .replace(/<!--.{0,400}?-->/gs, ' ')
    .replace(/^.*$/gm, (line) => (namesHolder(line) ? ' ' : line))
    .replace(/https?:\/\/\S+/g, ' ')
  return new Set(terms.match(/[a-z][a-z']+|\d+/g))
}

function namesHolder(line: string): boolean {
  return /\bcopyright\b/.test(line) && /\(c\)|©|\d{4}|<year>/.test(line)
}

/** Sørensen–Dice coefficient; returns 0 early if the sizes of the sets alone keep it at or below `atLeast`. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>, atLeast: number): number {
  const total = a.size + b.size
  if (2 * Math.min(a.size, b.size) <= atLeast * total) return 0
  return (2 * a.intersection(b).size) / total
}
