import { createReadStream, readdirSync, readFileSync } from 'node:fs'
import { kindOfFile } from '../../packages/archive/src/records/read-records.ts'
import { readEntries, textOf } from '../../packages/archive/src/tar/read-entries.ts'
import { REAL_ARCHIVE } from './real-archive.ts'
import { sharedFile } from './shared-files.ts'

const EXAMPLES = sharedFile('reference/archive-examples/')
const RECORDED = sharedFile('data/recorded-github/')

/** One record of each kind, modelled on real ones. They are not part of the project. */
export const EXAMPLE_RECORDS = { needed: EXAMPLES.needed } as const

export const RECORDED_GITHUB = { needed: RECORDED.needed } as const

export type GitHubRecordsByKind = Map<string, Record<string, unknown>[]>

/** Reads every record of the archive made by github.com. */
export async function realRecords(): Promise<GitHubRecordsByKind> {
  const found: GitHubRecordsByKind = new Map()
  for await (const entry of readEntries(createReadStream(REAL_ARCHIVE.file)))
    if (entry.kind === 'file')
      await add(found, entry.path.replace(/^\.\//, ''), () => textOf(entry))
  return found
}

export async function exampleRecords(): Promise<GitHubRecordsByKind> {
  const found: GitHubRecordsByKind = new Map()
  for (const name of readdirSync(EXAMPLES.path))
    await add(found, name, () => readFileSync(`${EXAMPLES.path}${name}`, 'utf8'))
  return found
}

async function add(
  found: GitHubRecordsByKind,
  name: string,
  text: () => string | Promise<string>,
): Promise<void> {
  const kind = kindOfFile(name)
  if (kind !== undefined) found.set(kind, [...(found.get(kind) ?? []), ...JSON.parse(await text())])
}

/** Returns GitHub's response to a request below the repository, such as `/labels?page=1&per_page=100`. */
export function recordedResponse<T>(request: string): T {
  const name = `GET_${encodeURIComponent(`/api/v3/repos/go-gitea/test_repo${request}`)}`
  const text = readFileSync(`${RECORDED.path}${name}`, 'utf8').replaceAll('\r\n', '\n')
  return JSON.parse(text.slice(text.indexOf('\n\n'))) as T
}

/** Returns what GitHub responded to all requests for a path below the repository, pages joined, or undefined if there was none. */
export function recordedPath(path: string): unknown {
  const start = `GET_${encodeURIComponent(`/api/v3/repos/go-gitea/test_repo${path}`)}`
  const names = readdirSync(RECORDED.path).filter((name) => name.split('%3F')[0] === start)
  const bodies = names.sort().map((name) => {
    const text = readFileSync(`${RECORDED.path}${name}`, 'utf8').replaceAll('\r\n', '\n')
    return JSON.parse(text.slice(text.indexOf('\n\n')))
  })
  return Array.isArray(bodies[0]) ? bodies.flat() : bodies[0]
}
