import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sharedFile } from '../shared-files.ts'
import type { Request } from './fake-forge.ts'
import { type ForgeResponse, NOT_FOUND } from './responses.ts'

const { path: DIRECTORY, needed } = sharedFile('data/recorded-gitea')

/** Recorded responses of gitea.com. They are not part of the project; without them, tests are skipped. */
export const RECORDED_GITEA = { needed } as const

interface Recording {
  body: unknown
  headers: Record<string, string>
}

/** Loads the recordings by path. If a path was recorded with several page sizes, the largest is used. */
export function loadRecordings(): Map<string, Recording> {
  const found = new Map<string, Recording>()
  for (const name of readdirSync(DIRECTORY).sort()) {
    const url = new URL(decodeURIComponent(name.slice('GET_'.length)), 'http://x')
    const limit = url.searchParams.get('limit')
    if (limit !== null && limit !== '50' && limit !== '0') continue
    found.set(url.pathname, parse(readFileSync(join(DIRECTORY, name), 'utf8')))
  }
  return found
}

function parse(text: string): Recording {
  const [head = '', ...rest] = text.split(/\r?\n\r?\n/)
  const total = /^x-total-count: (\d+)/im.exec(head)?.[1]
  return { body: JSON.parse(rest.join('\n\n')), headers: total ? { 'x-total-count': total } : {} }
}

/**
 * Returns a recorded response. The recordings have separate lists of issues and pull requests; a request for
 * both gets the combined list. Paths that were not recorded give an empty list, and there is no timeline.
 */
export function recordedResponse(
  recordings: Map<string, Recording>,
  request: Request,
): ForgeResponse {
  const { path, query } = request
  if (path.endsWith('/issues')) return allIssues(recordings, path, query)
  const number = /\/issues\/(\d+)$/.exec(path)?.[1]
  if (number) {
    const all = issuesIn(recordings, path.replace(/\/\d+$/, ''))
    const issue = all.find((each) => String(each.number) === number)
    return issue ? { body: issue } : NOT_FOUND
  }
  const found = recordings.get(path)
  if (found) return Number(query.get('page') ?? 1) > 1 ? { body: [] } : found
  const pull = /\/pulls\/(\d+)$/.exec(path)?.[1]
  if (pull) {
    const pulls = (recordings.get(path.replace(/\/\d+$/, ''))?.body ?? []) as { number: number }[]
    return { body: pulls.find(({ number }) => String(number) === pull) }
  }
  if (path.endsWith('/timeline') || path.startsWith('/api/v1/orgs/')) return NOT_FOUND
  return { body: path === '/api/v1/user' ? { id: 1, login: 'x', is_admin: true } : [] }
}

type IssueJson = Record<string, unknown> & { number: number }

function issuesIn(recordings: Map<string, Recording>, path: string): IssueJson[] {
  const issues = (recordings.get(path)?.body ?? []) as IssueJson[]
  const pulls = (recordings.get(path.replace(/issues$/, 'pulls'))?.body ?? []) as IssueJson[]
  const asIssues = pulls.map((pull) => ({
    ...pull,
    assets: [],
    pull_request: { merged: pull.merged, merged_at: pull.merged_at },
  }))
  return [...issues, ...asIssues].sort((a, b) => b.number - a.number)
}

function allIssues(
  recordings: Map<string, Recording>,
  path: string,
  query: URLSearchParams,
): ForgeResponse {
  const since = Date.parse(query.get('since') ?? '1970-01-01')
  const all = issuesIn(recordings, path).filter(
    (each) => Date.parse(String(each.updated_at)) >= since,
  )
  const page =
    Number(query.get('page') ?? 1) > 1 ? [] : all.slice(0, Number(query.get('limit') ?? 50))
  return { body: page, headers: { 'x-total-count': String(all.length) } }
}
