import type { Git, GitCall } from '../../../git/git.ts'
import { gitRecords } from './git-records.ts'
import { languageTally } from './main-language.ts'
import { recogniseLicense } from './recognise-license.ts'

export interface TreeFacts {
  language: string | null
  license: string | null
}

interface LicenseFile {
  oid: string
  path: string
}

/** In this order: a project under the LGPL has the GPL in COPYING, and its own terms in COPYING.LESSER. */
const LICENSE_FILES = [
  /^licen[cs]e(?:\.(?:md|txt|rst))?$/i,
  /^copying\.lesser/i,
  /^(?:licen[cs]e|copying|unlicen[cs]e)(?:[.-]|$)/i,
]
/** A few small trees can stand for billions of files; so many tell enough. */
const MOST_FILES = 250_000
const MOST_LICENSE_FILES = 4
const LARGEST_LICENSE = 128 * 1024

/** What the files of a commit are mostly written in and what its licence file says: two processes. */
export async function readTree(git: Git, commit: string, call: GitCall): Promise<TreeFacts> {
  const tally = await languageTally()
  const licenses: LicenseFile[] = []
  const args = ['ls-tree', '-r', '-l', '-z', '--full-tree', commit]
  let files = 0
  for await (const record of gitRecords(git, args, '\0', call)) {
    if (++files > MOST_FILES) break
    const [, oid, size, path] = /^100\d{3} blob (\w+) +(\d+)\t(.*)$/s.exec(record) ?? []
    if (oid === undefined || path === undefined) continue // a link, a submodule, a blob of unknown size
    tally.add(path, Number(size))
    if (licenseRank(path) !== -1 && Number(size) <= LARGEST_LICENSE) licenses.push({ oid, path })
  }
  return { language: tally.main(), license: await readLicense(git, licenses, call) }
}

function licenseRank(path: string): number {
  return path.includes('/') ? -1 : LICENSE_FILES.findIndex((pattern) => pattern.test(path))
}

async function readLicense(git: Git, files: LicenseFile[], call: GitCall): Promise<string | null> {
  if (files.length === 0) return null
  const best = files
    .sort((a, b) => licenseRank(a.path) - licenseRank(b.path))
    .slice(0, MOST_LICENSE_FILES)
  const input = best.map(({ oid }) => `${oid}\n`).join('')
  for (const text of blobs(await git.run(['cat-file', '--batch'], { ...call, input }))) {
    const license = await recogniseLicense(text)
    if (license !== null) return license
  }
  return null
}

/** `<oid> blob <size>`, the bytes, a line end; and so on. A missing one is a line without a size. */
function* blobs(batch: Buffer): Generator<string, void, void> {
  for (let at = 0; at < batch.length; ) {
    const start = batch.indexOf('\n', at) + 1
    const size = / blob (\d+)$/.exec(batch.toString('latin1', at, start - 1))?.[1]
    const end = start + Number(size ?? -1)
    if (size !== undefined) yield batch.toString('utf8', start, end)
    at = end + 1
  }
}
