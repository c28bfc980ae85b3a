import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type FakeServer, fakeServer, sendJson } from './fake-server.ts'
import { writeExport } from './gitlab-exports.ts'
import { until } from './wait-until.ts'

export interface GitLabServer extends FakeServer {
  /** Requests with the token, as `METHOD /path`, without the address of the API. */
  calls(): string[]
  /** Responds to the next request that matches `METHOD /path`. */
  once(pattern: RegExp, respond: (response: ServerResponse) => void): void
}

interface Options {
  token: string
  /** The bytes that the download of every project sends. */
  archive: Buffer
  /** Paths of projects. The ID of each is its position, from 1. */
  projects: readonly string[]
  /** The states after the export is started; `finished` by default. */
  states?: readonly string[]
  pageSize?: number
}

/**
 * A stand-in for the export API of a GitLab server, as GitLab documents it. Exports go through `states`, one for each request of the
 * status; the last one stays. Downloads have an ETag and support ranges.
 */
export async function gitlabServer(t: TestContext, options: Options): Promise<GitLabServer> {
  const { token, archive, projects, states = ['finished'], pageSize = 100 } = options
  const API = '/api/v4'
  const faults: { pattern: RegExp; respond(response: ServerResponse): void }[] = []
  /** The position in `states` of each project whose export was started. */
  const started = new Map<number, number>()
  const project = (path: string) => ({
    id: projects.indexOf(path) + 1,
    path_with_namespace: path,
  })
  const server: FakeServer = await fakeServer(t, ({ method, path, headers }, response) => {
    const call = `${method} ${path.slice(API.length)}`
    const notFound = () => sendJson(response, 404, { message: '404 Not Found' })
    if (!path.startsWith(API)) return notFound()
    if (headers.authorization?.replace(/^bearer /i, '') !== token)
      return sendJson(response, 401, { message: '401 Unauthorized' })
    const fault = faults.findIndex(({ pattern }) => pattern.test(call))
    if (fault >= 0) return faults.splice(fault, 1)[0]!.respond(response)
    if (call === 'GET /version') return sendJson(response, 200, { version: '17.1.0' })
    const [, kind, name, rest = '', query = ''] =
      /^\w+ \/(projects|groups)\/([^/?]+)(\/[^?]*)?(\?.*)?$/.exec(call) ?? []
    if (kind === 'groups' && rest === '/projects') {
      const found = projects.filter((each) => each.startsWith(`${decodeURIComponent(name!)}/`))
      if (found.length === 0) return notFound()
      const parameters = new URLSearchParams(query)
      const page = Number(parameters.get('page') ?? 1)
      parameters.set('page', String(page + 1))
      // GitLab builds links with its configured address, which may be another one behind a proxy.
      const next = `<http://gitlab.internal${path.split('?')[0]}?${parameters}>; rel="next"`
      const first = `<http://gitlab.internal/first?page=1>; rel="first"`
      const link = found.length > page * pageSize ? `${next}, ${first}` : first
      const listed = found.slice((page - 1) * pageSize, page * pageSize).map(project)
      return sendJson(response, 200, listed, { link })
    }
    const id = Number(name) || projects.indexOf(decodeURIComponent(name ?? '')) + 1
    const found = projects[id - 1]
    if (kind !== 'projects' || found === undefined) return notFound()
    if (rest === '') return sendJson(response, 200, project(found))
    if (rest === '/export' && method === 'POST') {
      started.set(id, 0)
      return sendJson(response, 202, { message: '202 Accepted' })
    }
    const at = started.get(id)
    const state = at === undefined ? 'none' : states[Math.min(at, states.length - 1)]
    if (rest === '/export') {
      if (at !== undefined) started.set(id, at + 1)
      return sendJson(response, 200, { ...project(found), export_status: state })
    }
    if (state !== 'finished') return notFound()
    sendArchive(response, archive, headers.range)
  })
  return {
    ...server,
    calls: () => server.requests.map(({ method, path }) => `${method} ${path.slice(API.length)}`),
    once: (pattern, respond) => void faults.push({ pattern, respond }),
  }
}

export const etagOf = (archive: Buffer): string =>
  `"${createHash('sha256').update(archive).digest('hex')}"`

export function sendArchive(response: ServerResponse, archive: Buffer, range?: string): void {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
  const etag = etagOf(archive)
  if (from === 0)
    return void response.writeHead(200, { etag, 'content-length': archive.length }).end(archive)
  const rest = archive.subarray(from)
  const headers = { etag, 'content-range': `bytes ${from}-${archive.length - 1}/${archive.length}` }
  response.writeHead(206, { ...headers, 'content-length': rest.length }).end(rest)
}

/** Sends the first third of the archive, and breaks the connection when the client has written some of it to `part`. */
export function dropDownload(response: ServerResponse, archive: Buffer, part: string): void {
  response.writeHead(200, { etag: etagOf(archive), 'content-length': archive.length })
  response.write(archive.subarray(0, archive.length / 3))
  const hasBytes = () => existsSync(part) && statSync(part).size > 0
  void until(`${part} has bytes`, hasBytes).then(() => response.destroy())
}

let made: Promise<Buffer> | undefined

/** Makes a project export with a commit, an issue and an upload. It has no name, as those of most versions. All calls return the same. */
export const makeExport = (): Promise<Buffer> => (made ??= makeNewExport())

async function makeNewExport(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-gitlab-export-'))
  const [root, repository] = [join(folder, 'export'), join(folder, 'repository')]
  await mkdir(repository)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@x.org', ...args], {
      cwd: repository,
    })
  git('init', '--quiet', '--initial-branch=main')
  git('commit', '--quiet', '--allow-empty', '--message=first')
  git('bundle', 'create', '--quiet', join(folder, 'project.bundle'), '--all')
  const at = '2024-05-01T12:00:00.000Z'
  const issue = { iid: 1, title: 'One', author_id: 1, state: 'opened', created_at: at }
  await writeExport(
    root,
    { issues: [{ ...issue, updated_at: at }] },
    {
      'tree/project.json': JSON.stringify({ visibility_level: 20 }),
      'project.bundle': await readFile(join(folder, 'project.bundle')),
      [`uploads/${'a'.repeat(32)}/noise.bin`]: randomBytes(300_000),
    },
  )
  execFileSync('tar', ['czf', join(folder, 'export.tar.gz'), '-C', root, '.'])
  const archive = await readFile(join(folder, 'export.tar.gz'))
  await rm(folder, { recursive: true })
  return archive
}
