import { READ_ROUTES, REPOSITORY_READ_ROUTES } from './reading-routes.ts'
import type { Dialect } from './render.ts'
import { WRITE_ROUTES } from './writing-routes.ts'

/** The version of Gitea that introduced a request: 120 means 1.20. All other requests exist since 1.15 or earlier. */
const SINCE: readonly [RegExp, number][] = [
  [/\/wiki\/new$/, 116],
  [/\/timeline$/, 116],
  [/\/permission$/, 117],
  [/^delete \/repos\/\{owner\}\/\{repo\}\/issues\/\{index\}$/, 117],
  [/\/issues\/(?:comments\/\{id\}|\{index\})\/assets/, 119],
  [/\/dependencies$/, 120],
  [/\/pin(?:ned)?$/, 120],
  [/\/rename$/, 120],
  [/\/lock$/, 124],
]

const PARAMETERS: Readonly<Record<string, string>> = {
  ...{ issues: 'index', pulls: 'index', collaborators: 'collaborator', contents: 'filepath' },
  ...{ branches: 'branch', branch_protections: 'name', topics: 'topic', teams: 'team' },
  ...{ users: 'username', members: 'username', orgs: 'org', assets: 'attachment_id' },
}

/** Returns the path of a route as in Gitea's description of its API: `/repos/{owner}/{repo}/issues/{index}`. */
function templateOf(pattern: RegExp): string {
  const parts = pattern.source
    .replace(/^\^|\$$/g, '')
    .replaceAll('\\/', '/')
    .replaceAll('\\.', '.')
  return parts
    .replace(/^\/repos\/\(\[\^\/\]\+\)\/\(\[\^\/\]\+\)/, '/repos/{owner}/{repo}')
    .replace(/\/repos\/\(\[\^\/\]\+\)\/\(\[\^\/\]\+\)$/, '/repos/{org}/{repo}')
    .replace(/^\/teams\/\(\\d\+\)/, '/teams/{id}')
    .replace(/(\w+)\/(?:\(\\d\+\)|\(\[\^\/\]\+\)|\(\.\+\))/g, (_, folder: string) => {
      return `${folder}/{${PARAMETERS[folder] ?? 'id'}}`
    })
}

const prefixed = (pattern: RegExp) =>
  new RegExp(`^\\/repos\\/([^/]+)\\/([^/]+)${pattern.source.slice(1)}`)

interface Described {
  method: string
  pattern: RegExp
  template: string
  since: number
}

const ROUTES: readonly Described[] = [
  ...READ_ROUTES.map(([pattern]) => ['GET', pattern] as const),
  ...REPOSITORY_READ_ROUTES.map(([pattern]) => ['GET', prefixed(pattern)] as const),
  ...WRITE_ROUTES,
].map(([name, pattern]) => {
  const method = name.toLowerCase()
  const template = templateOf(pattern)
  const since = SINCE.find(([newer]) => newer.test(`${method} ${template}`))?.[1] ?? 0
  return { method, pattern, template, since }
})

const versionOf = ({ version }: Dialect) => {
  const [, minor] = /(?:gitea-|^)1\.(\d+)/.exec(version) ?? []
  return 100 + Number(minor)
}

/** Returns false for requests that the version does not have yet. */
export function isKnownRequest(dialect: Dialect, method: string, path: string): boolean {
  const version = versionOf(dialect)
  return !ROUTES.some(
    (route) =>
      route.since > version && route.method === method.toLowerCase() && route.pattern.test(path),
  )
}

/** Returns the part of `/swagger.v1.json` that lists the requests of this version. */
export function describeApi(dialect: Dialect) {
  const paths: Record<string, Record<string, object>> = {}
  const isForgejo = !/^1\./.test(dialect.version)
  const time = [{ name: 'updated_at', in: 'query' }]
  for (const { method, template, since } of ROUTES)
    if (since <= versionOf(dialect)) {
      const operation = isForgejo && /\/assets$/.test(template) ? { parameters: time } : {}
      paths[template] = { ...paths[template], [method]: operation }
    }
  const properties = { body: {}, ...(isForgejo && { updated_at: {} }) }
  const definitions = { EditIssueOption: { properties }, EditIssueCommentOption: { properties } }
  const info = { version: dialect.version }
  return { swagger: '2.0', basePath: '/api/v1', info, paths, definitions }
}
