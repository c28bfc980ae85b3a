import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../../accounts/account.ts'
import { findViewerByTokenId } from '../../../accounts/token-store.ts'
import type { Write } from '../../../archive/copy-archive.ts'
import type { Db } from '../../../db/database.ts'
import { GitFailed } from '../../../git/git-process.ts'
import { isName } from '../../../lib/names.ts'
import { RECENT } from '../../../repositories/refresh-rights.ts'
import {
  findVisibleRepository,
  type VisibleRepository,
} from '../../../repositories/visible-repository.ts'
import type { FetchRequest, RepositoryName, Source } from '../../../sources/source.ts'
import { Unreadable } from '../../../sources/unreadable.ts'
import type { Forwarding } from '../../middleware/api-headers.ts'
import { type FailedLogins, parseToken } from '../../middleware/authenticate.ts'
import { callerKey } from '../../middleware/caller-key.ts'
import type { Admission, ConcurrencyLimit } from '../../middleware/concurrency-limit.ts'
import { gitErrorHandler } from '../../middleware/error-handler.ts'
import {
  cloneRequestTooLarge,
  HttpError,
  notUploadPackRequest,
  pushNotAllowed,
  repositoryNotFound,
  requiresAuthentication,
  unavailable,
  unknownGitService,
} from '../../middleware/http-errors.ts'
import type { RateLimit } from '../../middleware/rate-limit.ts'
import type { ReadBody, ReceivedBody } from '../../middleware/request-bodies.ts'
import {
  ClientDisconnected,
  type ClientReader,
  type OutcomeCounter,
  watchClient,
} from '../../middleware/response-stream.ts'
import type { ServerParts } from '../../server-parts.ts'
import { type CloneTokens, isCloneToken } from './clone-tokens.ts'

interface CloneParts extends Pick<ServerParts, 'db' | 'log' | 'now' | 'rights'> {
  /** Undefined if this process has no access to the repositories, or serves no clones. */
  source: Source | undefined
  /** Limits how many git processes serve clones at a time. */
  slots: ConcurrencyLimit
  admission: Admission
  outcomes: OutcomeCounter
  tokens: CloneTokens
  readBody: ReadBody
  limit: RateLimit
  logins: FailedLogins
  forwarding: Forwarding
}

interface CloneRequest {
  Params: { owner: string; name: string }
  Querystring: Record<string, unknown>
}

const NO_CACHE = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
}

/** Serves `git clone`, `fetch` and `ls-remote` by git's smart HTTP protocol, at `OWNER/NAME.git` or without `.git`. */
export function addCloneRoutes(app: FastifyInstance, parts: CloneParts): void {
  app.register(async (git) => {
    git.setErrorHandler(gitErrorHandler(parts.log))
    git.removeAllContentTypeParsers()
    // The routes read the body themselves, each with its own limit.
    git.addContentTypeParser('*', (_request, _payload, done) => done(null))
    git.addHook('onRequest', async (request, reply) => {
      reply.headers(NO_CACHE).header('x-request-id', request.id)
      parts.forwarding.check(request)
    })
    addRoutes(git, parts)
  })
}

/** The limit applies to the uncompressed body: about 300,000 refs and commits of 50 bytes. Git's own limit is 10 MiB. */
const CLONE_BODY = {
  maxBytes: 16 * 1024 * 1024,
  tooLarge: cloneRequestTooLarge,
  acceptsGzip: true,
}

function addRoutes(git: FastifyInstance, parts: CloneParts): void {
  git.get<CloneRequest>(
    '/:owner/:name/info/refs',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { service } = request.query
      if (service === 'git-receive-pack') throw pushNotAllowed()
      if (service !== 'git-upload-pack') throw unknownGitService()
      return serve(request, reply, 'advertisement', undefined)
    },
  )

  git.post<CloneRequest>('/:owner/:name/git-upload-pack', async (request, reply) => {
    const type = request.headers['content-type']?.trim().toLowerCase()
    if (type !== 'application/x-git-upload-pack-request') throw notUploadPackRequest()
    return serve(request, reply, 'request', () => parts.readBody(request, CLONE_BODY))
  })

  git.post('/:owner/:name/git-receive-pack', async () => {
    throw pushNotAllowed()
  })

  async function serve(
    request: FastifyRequest<CloneRequest>,
    reply: FastifyReply,
    phase: ServedClone['phase'],
    read: (() => Promise<ReceivedBody>) | undefined,
  ): Promise<FastifyReply> {
    const { viewer, visible, isWiki } = await findRequested(parts, request)
    request.viewer = viewer
    if (viewer) await parts.limit.count({ viewer, ip: request.ip }, reply)
    else if (visible) await parts.limit.countAddress(request.ip, reply)
    // Without a token, a private repository and a missing one get the same response.
    if (!visible) throw viewer ? repositoryNotFound() : requiresAuthentication()
    const { owner, name } = visible.entry
    const repository = { owner: owner.login, name }
    await serveClone(parts, request, reply, { repository, isWiki, phase, read })
    return reply
  }
}

async function findRequested(parts: CloneParts, request: FastifyRequest<CloneRequest>) {
  const { db, rights, logins } = parts
  const { viewer, onlyId } = await identify(parts, request)
  let { visible, isWiki } = await findCloned(db, null, request.params)
  // For a public repository, the forge is not asked for permissions.
  if (!visible && viewer) {
    await rights?.refresh(viewer.account, RECENT)
    ;({ visible, isWiki } = await findCloned(db, viewer, request.params))
  }
  // A clone token for another repository is an invalid credential.
  if (onlyId !== undefined && visible?.entry.id !== onlyId) return logins.refuse(request.ip)
  return { viewer, visible, isWiki }
}

/** Finds the repository, or that of the wiki. `visible` is undefined if it does not exist or the viewer may not read it. */
async function findCloned(
  db: Db,
  viewer: Viewer | null,
  { owner, name: nameInPath }: CloneRequest['Params'],
): Promise<{ visible: VisibleRepository | undefined; isWiki: boolean }> {
  const find = async (name: string) =>
    isName(owner) && isName(name) ? findVisibleRepository(db, viewer, { owner, name }) : undefined
  const name = nameInPath.replace(/\.git$/, '')
  const visible = await find(name)
  if (visible || !name.endsWith('.wiki')) return { visible, isWiki: false }
  return { visible: await find(name.slice(0, -'.wiki'.length)), isWiki: true }
}

/** Returns the caller, or null without credentials. A clone token is valid only for the repository with the id `onlyId`. */
async function identify(
  { db, tokens, logins, now }: CloneParts,
  { headers: { authorization }, ip }: FastifyRequest,
): Promise<{ viewer: Viewer | null; onlyId?: number }> {
  if (!authorization) return { viewer: null }
  const credential = cloneCredential(authorization)
  if (credential === undefined || !isCloneToken(credential)) {
    return { viewer: await logins.viewerOf(credential, ip) }
  }
  const token = tokens.read(credential)
  const viewer = token && (await findViewerByTokenId(db, token.tokenId, now()))
  return viewer ? { viewer, onlyId: token.repositoryId } : logins.refuse(ip)
}

const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i
/** With one of these passwords, the user name is the token. */
const NO_PASSWORD = new Set(['', 'x-oauth-basic'])

/**
 * Returns the token that a git client sends. Git supports only Basic authentication: the token is the password of any user,
 * or the user name without a password. Returns undefined if there is none.
 */
function cloneCredential(authorization: string): string | undefined {
  const encoded = BASIC.exec(authorization)?.[1]
  if (encoded === undefined) return parseToken(authorization)
  const [, name = '', password = ''] =
    /^([^:]*):?(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return (NO_PASSWORD.has(password) ? name : password) || undefined
}

interface ServedClone {
  repository: RepositoryName
  isWiki: boolean
  phase: FetchRequest['phase']
  /** Reads the body of the request; undefined for an advertisement, which has none. */
  read: (() => Promise<ReceivedBody>) | undefined
}

/** All callers without a token count as one account. */
const ANONYMOUS_ACCOUNT_ID = 0

/** Runs git for one request, sends its output and counts the outcome. */
async function serveClone(
  parts: CloneParts,
  request: FastifyRequest,
  reply: FastifyReply,
  clone: ServedClone,
): Promise<void> {
  const { source, slots, admission, outcomes, log } = parts
  const { repository, read } = clone
  const logFields = { id: request.id, repository: `${repository.owner}/${repository.name}` }
  if (!source) {
    log.info(
      logFields,
      'cannot serve a clone: this process has no --repositories, or --max-clones is 0',
    )
    throw repositoryNotFound()
  }
  const client = watchClient(reply.raw)
  let body: ReceivedBody | undefined
  try {
    body = await read?.()
    const release = await slots.take(callerKey(request), client.signal)
    try {
      admission.stream(reply.raw, request.viewer?.account.id ?? ANONYMOUS_ACCOUNT_ID)
      await sendGitOutput(source, client, reply, { ...clone, body })
      outcomes.add('complete')
    } finally {
      release()
    }
  } catch (error) {
    if (error instanceof HttpError) throw error
    const isDisconnected = client.signal.aborted || error instanceof ClientDisconnected
    outcomes.add(isDisconnected ? 'ended_by_client' : 'failed')
    if (isDisconnected) log.info({ ...logFields, sent: client.sent() }, 'the client ended a clone')
    else log.warn({ err: error, ...logFields, sent: client.sent() }, 'a clone failed')
    endOrRefuse(reply, error)
  } finally {
    body?.release()
  }
}

async function sendGitOutput(
  source: Source,
  client: ClientReader,
  reply: FastifyReply,
  { repository, isWiki, phase, body }: ServedClone & { body: ReceivedBody | undefined },
): Promise<void> {
  const protocolVersion = protocolVersionOf(reply.request)
  const ended = new AbortController()
  const signal = AbortSignal.any([client.signal, ended.signal])
  const git = await source.serveFetch(repository, { phase, isWiki, protocolVersion, signal })
  // Git may exit before it has read all of its input. Then its exit status is the error.
  git.stdin.on('error', () => {})
  git.stdin.end(body?.bytes, () => body?.release())
  let write: Write | undefined
  const begin = async (): Promise<Write> => {
    const kind = phase === 'advertisement' ? 'advertisement' : 'result'
    write = client.begin(reply.type(`application/x-git-upload-pack-${kind}`))
    // Version 2 of the protocol has no service line.
    if (kind === 'advertisement' && protocolVersion < 2) await write(SERVICE_LINE)
    return write
  }
  try {
    for await (const bytes of git.stdout) await (write ?? (await begin()))(bytes)
    await git.done
    // An empty output is a valid response: git's first request only tests its credentials.
    if (!write) await begin()
    reply.raw.end()
  } finally {
    ended.abort()
    await git.done.catch(() => {})
  }
}

const SERVICE_LINE = Buffer.from('001e# service=git-upload-pack\n0000')

/** Returns the highest version in the header, like git. */
function protocolVersionOf({ headers }: FastifyRequest): 0 | 1 | 2 {
  const parameters = String(headers['git-protocol'] ?? '').split(':')
  return parameters.includes('version=2') ? 2 : parameters.includes('version=1') ? 1 : 0
}

/**
 * Reports an error to the client: as a response, if none was sent yet. After that, git has written its error to its output if it
 * exited. If it was killed, only a broken connection shows the client that the output is incomplete.
 */
function endOrRefuse(reply: FastifyReply, error: unknown): void {
  if (!reply.sent) {
    if (error instanceof Unreadable) throw new HttpError(404, error.message)
    throw unavailable()
  }
  const hasReported = error instanceof GitFailed && error.exitCode !== null && !error.cause
  if (hasReported && !error.exceededLimit) reply.raw.end()
  else reply.raw.destroy()
}
