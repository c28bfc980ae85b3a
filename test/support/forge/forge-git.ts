import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createGunzip } from 'node:zlib'

export type MergeStyle = 'merge' | 'rebase' | 'rebase-merge' | 'squash'

/** Who commits, and when, in Unix time. */
interface Signature {
  login: string
  at: number
}

const ENVIRONMENT = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }

const signed = ({ login, at }: Signature) =>
  Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((role) => [
      [`GIT_${role}_NAME`, login],
      [`GIT_${role}_EMAIL`, `${login}@example.com`],
      [`GIT_${role}_DATE`, `@${at} +0000`],
    ]),
  )

/** The bare repositories and LFS objects of a fake forge, in the directories that Gitea has. */
export class ForgeGit {
  readonly root: string
  readonly lfs: string

  constructor(root: string, lfs: string) {
    this.root = root
    this.lfs = lfs
  }

  path = (fullName: string): string => join(this.root, `${fullName}.git`.toLowerCase())

  #git(
    dir: string,
    args: readonly string[],
    { env = {}, input }: { env?: NodeJS.ProcessEnv; input?: Buffer } = {},
  ): string {
    const options = { cwd: dir, env: { ...ENVIRONMENT, ...env }, ...(input ? { input } : {}) }
    return execFileSync('git', args, { ...options, stdio: 'pipe', maxBuffer: 1 << 28 })
      .toString()
      .trim()
  }

  isThere = (fullName: string): boolean => existsSync(this.path(fullName))

  create(fullName: string, branch: string): void {
    mkdirSync(this.path(fullName), { recursive: true })
    const init = ['init', '--quiet', '--bare', '--template=', `--initial-branch=${branch}`]
    this.#git(this.path(fullName), init)
  }

  clone(from: string, fullName: string): void {
    mkdirSync(dirname(this.path(fullName)), { recursive: true })
    this.#git(this.root, ['clone', '--quiet', '--mirror', '--template=', from, this.path(fullName)])
  }

  rename(before: string, after: string): void {
    for (const suffix of ['', '.wiki']) {
      const from = this.path(before + suffix)
      mkdirSync(dirname(this.path(after)), { recursive: true })
      if (existsSync(from)) renameSync(from, this.path(after + suffix))
    }
  }

  remove(fullName: string): void {
    for (const suffix of ['', '.wiki'])
      rmSync(this.path(fullName + suffix), { recursive: true, force: true })
  }

  branches(fullName: string): Map<string, string> {
    const format = '--format=%(refname:lstrip=2) %(objectname)'
    const text = this.#git(this.path(fullName), ['for-each-ref', format, 'refs/heads'])
    return new Map(
      text.split('\n').flatMap((line) => (line ? [line.split(' ') as [string, string]] : [])),
    )
  }

  resolve(fullName: string, name: string): string | undefined {
    try {
      return this.#git(this.path(fullName), [
        'rev-parse',
        '--verify',
        '--quiet',
        `${name}^{commit}`,
      ])
    } catch {
      return undefined
    }
  }

  setRef(fullName: string, ref: string, sha: string | null): void {
    const args = sha === null ? ['-d', ref] : [ref, sha]
    this.#git(this.path(fullName), ['update-ref', ...args])
  }

  setHead(fullName: string, branch: string): void {
    this.#git(this.path(fullName), ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
  }

  /** Takes the objects of a branch of another repository, and stores its tip as a ref. */
  fetch(fullName: string, from: string, branch: string, ref: string): void {
    const refs = `+refs/heads/${branch}:${ref}`
    this.#git(this.path(fullName), ['fetch', '--quiet', this.path(from), refs])
  }

  mergeBase = (fullName: string, a: string, b: string): string =>
    this.#git(this.path(fullName), ['merge-base', a, b])

  diff = (fullName: string, from: string, to: string): string =>
    `${this.#git(this.path(fullName), ['diff', '--binary', from, to])}\n`

  /** Commits one file on top of a branch, or of nothing. */
  addFile(
    fullName: string,
    file: { path: string; bytes: Buffer },
    { branch, newBranch = branch, message, by }: FileCommit,
  ): string {
    const dir = this.path(fullName)
    const parent = this.resolve(fullName, `refs/heads/${branch}`)
    const index = join(mkdtempSync(join(tmpdir(), 'godwit-index-')), 'index')
    const env = { GIT_INDEX_FILE: index, ...signed(by) }
    if (parent) this.#git(dir, ['read-tree', parent], { env })
    const blob = this.#git(dir, ['hash-object', '-w', '--stdin'], { input: file.bytes })
    const entry = ['--add', '--cacheinfo', `100644,${blob},${file.path}`]
    this.#git(dir, ['update-index', ...entry], { env })
    const tree = this.#git(dir, ['write-tree'], { env })
    rmSync(dirname(index), { recursive: true })
    const parents = parent ? ['-p', parent] : []
    const commit = this.#git(dir, ['commit-tree', tree, ...parents, '-m', message], { env })
    this.setRef(fullName, `refs/heads/${newBranch}`, commit)
    return commit
  }

  /** Merges a commit into a branch in one of Gitea's styles, and returns the branch's new tip. */
  merge(fullName: string, { branch, head, style, message, by }: Merge): string {
    const folder = mkdtempSync(join(tmpdir(), 'godwit-merge-'))
    const git = (...args: string[]) => this.#git(folder, args, { env: signed(by) })
    try {
      git('clone', '--quiet', '--shared', '--branch', branch, this.path(fullName), '.')
      const base = git('rev-parse', 'HEAD')
      let rebased = head
      if (style === 'rebase' || style === 'rebase-merge') {
        git('checkout', '--quiet', '--detach', head)
        git('rebase', '--quiet', base)
        rebased = git('rev-parse', 'HEAD')
        git('checkout', '--quiet', branch)
      }
      if (style === 'squash') {
        git('merge', '--quiet', '--squash', head)
        git('commit', '--quiet', '-m', message)
      } else if (style === 'rebase') git('merge', '--quiet', '--ff-only', rebased)
      else git('merge', '--quiet', '--no-ff', '-m', message, rebased)
      git('push', '--quiet', 'origin', branch)
      return git('rev-parse', 'HEAD')
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  /** Serves clones and pushes with git's own program. */
  async serve(path: string, query: string, user: string, call: Call): Promise<void> {
    const { request, response } = call
    const child = spawn('git', ['http-backend'], {
      env: {
        ...ENVIRONMENT,
        ...{ GIT_PROJECT_ROOT: this.root, GIT_HTTP_EXPORT_ALL: '1', REMOTE_USER: user },
        ...{ PATH_INFO: path, QUERY_STRING: query, REQUEST_METHOD: request.method },
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const isZipped = request.headers['content-encoding'] === 'gzip'
    const body = isZipped ? request.pipe(createGunzip()) : request
    body.pipe(child.stdin)
    child.stdin.on('error', () => {})
    const output = Buffer.concat(await child.stdout.toArray())
    const end = output.indexOf('\r\n\r\n')
    const headers: Record<string, string> = {}
    for (const line of output.subarray(0, end).toString().split('\r\n')) {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(line) ?? []
      headers[name.toLowerCase()] = value
    }
    const { status = '200', ...rest } = headers
    response.writeHead(Number.parseInt(status, 10), rest)
    response.end(output.subarray(end + 4))
  }

  #object = (oid: string) => join(this.lfs, oid.slice(0, 2), oid.slice(2, 4), oid.slice(4))

  readLfs(oid: string): Buffer | undefined {
    return existsSync(this.#object(oid)) ? readFileSync(this.#object(oid)) : undefined
  }

  /** Returns whether the bytes are the object's. */
  storeLfs(oid: string, bytes: Buffer): boolean {
    if (createHash('sha256').update(bytes).digest('hex') !== oid) return false
    mkdirSync(dirname(this.#object(oid)), { recursive: true })
    writeFileSync(this.#object(oid), bytes)
    return true
  }
}

interface FileCommit {
  branch: string
  newBranch?: string
  message: string
  by: Signature
}

interface Merge {
  branch: string
  head: string
  style: MergeStyle
  message: string
  by: Signature
}

interface Call {
  request: IncomingMessage
  response: ServerResponse
}
