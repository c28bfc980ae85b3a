import { GitFailed } from '@godwit/git/git-process'
import { Unreadable } from '@godwit/git/unreadable'
import type { RepositoryName, Source } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Viewer } from '../../../accounts/account.ts'
import { findViewerByTokenId } from '../../../accounts/token-store.ts'
import type { Db } from '../../../db/database.ts'
import { RECENT } from '../../../repositories/refresh-permissions.ts'
import type { VisibleRepository } from '../../../repositories/visible-repository.ts'
import { findVisibleRepository } from '../../../repositories/visible-repository.ts'
import { type CloneTokens, isCloneToken } from '../../credentials/clone-tokens.ts'
import { readCredentials } from '../../middleware/authenticate.ts'
import type { Admission, ConcurrencyLimit } from '../../middleware/concurrency-limit.ts'
import { withSlot } from '../../middleware/concurrency-limit.ts'
import { prepareErrorResponse } from '../../middleware/error-handler.ts'
import * as httpErrors from '../../middleware/http-errors.ts'
import { callerKey } from '../../middleware/request.ts'
import type { ReadBody } from '../../middleware/request-bodies.ts'
import type { ClientReader, OutcomeCounter } from '../../middleware/response-stream.ts'
import { ClientDisconnected, watchClient } from '../../middleware/response-stream.ts'
import type { Guards, ServerDependencies } from '../../server-dependencies.ts'

const repositoryNotFound = () => new httpErrors.HttpError(404, 'Repository not found.')

export interface CloneDependencies
  extends Pick<ServerDependencies, 'db' | 'log' | 'now' | 'permissionsRefresher' | 'rendering'>,
    Pick<Guards, 'limit' | 'logins' | 'forwarding'> {
  /** Undefined if this process has no access to the repositories, or serves no clones. */
  source: Source | undefined
  /** Limits how many git processes serve clones at a time. */
  slots: ConcurrencyLimit
  admission: Admission
  outcomes: OutcomeCounter
  tokens: CloneTokens
  readBody: ReadBody
}

export interface CloneRequest {
  Params: { owner: string; name: string }
  Querystring: Record<string, unknown>
}

/** A repository or wiki that the caller may clone. */
export type ReadableRepository = { repository: RepositoryName; isWiki: boolean }

/** Identifies the caller, counts the request against the rate limit unless `isCounted` is false, and finds the repository. */
export async function findReadable(
  dependencies: CloneDependencies,
  request: FastifyRequest<CloneRequest>,
  reply: FastifyReply,
  { isCounted = true } = {},
): Promise<ReadableRepository> {
  const { viewer, visible, isWiki } = await findRequested(dependencies, request)
  request.viewer = viewer
  if (isCounted && viewer) await dependencies.limit.count({ viewer, ip: request.ip }, reply)
  else if (isCounted && visible) await dependencies.limit.countAddress(request.ip, reply)
  // Without a token, a private repository and a missing one get the same response.
  if (!visible) throw viewer ? repositoryNotFound() : httpErrors.requiresAuthentication()
  const { owner, name } = visible.entry
  return { repository: { owner: owner.login, name }, isWiki }
}

async function findRequested(
  dependencies: CloneDependencies,
  request: FastifyRequest<CloneRequest>,
) {
  const { db, permissionsRefresher, logins } = dependencies
  const { viewer, onlyId } = await identify(dependencies, request)
  let { visible, isWiki } = await findCloned(db, null, request.params)
  // For a public repository, the forge is not asked for permissions.
  if (!visible && viewer) {
    await permissionsRefresher?.refresh(viewer.account, RECENT)
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
  { db, tokens, logins, now }: CloneDependencies,
  request: FastifyRequest,
): Promise<{ viewer: Viewer | null; onlyId?: number }> {
  const credentials = readCredentials(request)
  if (!credentials) return { viewer: null }
  const { ip } = request
  const { token: sent } = credentials
  if (sent === undefined || !isCloneToken(sent)) return { viewer: await logins.viewerOf(sent, ip) }
  const token = tokens.read(sent)
  const viewer = token && (await findViewerByTokenId(db, token.tokenId, now()))
  return viewer ? { viewer, onlyId: token.repositoryId } : logins.refuse(ip)
}

/** All callers without a token count as one account. */
const ANONYMOUS_ACCOUNT_ID = 0

/** What a request needs while it is served. */
export interface Serving {
  source: Source
  client: ClientReader
  /** Calls `run` as soon as another git process may run. */
  withSlot<T>(run: () => Promise<T>): Promise<T>
  /** Marks the response as a stream. Throws if there are too many. */
  markAsStream(): void
}

/** Calls `work` to send the response to one request of a git client, and counts the outcome. */
export async function serveCounted(
  dependencies: CloneDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { owner, name }: RepositoryName,
  work: (serving: Serving) => Promise<void>,
): Promise<FastifyReply> {
  const { source, slots, admission, outcomes, log } = dependencies
  const logFields = { id: request.id, repository: `${owner}/${name}` }
  if (!source) {
    log.info(
      logFields,
      'cannot serve a clone: this process has no --repositories, or --max-clones is 0',
    )
    throw repositoryNotFound()
  }
  const client = watchClient(reply.raw)
  try {
    await work({
      source,
      client,
      withSlot: (run) =>
        withSlot(slots, { caller: callerKey(request), signal: client.signal }, run),
      markAsStream: () =>
        admission.stream(reply.raw, request.viewer?.account.id ?? ANONYMOUS_ACCOUNT_ID),
    })
    outcomes.add('complete')
  } catch (error) {
    if (error instanceof httpErrors.HttpError) throw error
    const isDisconnected = client.signal.aborted || error instanceof ClientDisconnected
    const reason = rejectionReason(error)
    outcomes.add(isDisconnected ? 'ended_by_client' : reason ? 'refused' : 'failed')
    const fields = { ...logFields, sent: client.sent() }
    if (isDisconnected) log.info(fields, 'the client ended a clone')
    else if (reason) log.info({ ...fields, reason }, 'git rejected the request of a client')
    else log.warn({ err: error, ...fields }, 'a clone failed')
    endOrRefuse(reply, error)
  }
  return reply
}

/**
 * Reports an error to the client: as a response, if none was sent yet. After that, git has written its error to its output if it
 * exited. If it was killed, only a broken connection shows the client that the output is incomplete.
 */
function endOrRefuse(reply: FastifyReply, error: unknown): void {
  if (!reply.sent) {
    if (error instanceof Unreadable) throw new httpErrors.HttpError(404, error.message)
    const reason = rejectionReason(error)
    if (reason) throw new httpErrors.HttpError(400, `Git rejected the request: ${reason}`)
    throw httpErrors.unavailable()
  }
  const hasReported = error instanceof GitFailed && error.exitCode !== null && !error.cause
  if (hasReported && !error.exceededLimit) reply.raw.end()
  else reply.raw.destroy()
}

/**
 * The messages with which git rejects a request. They are listed, because git exits with the same code for a damaged repository, whose
 * messages are similar: `unexpected line in ./packed-refs`, `bad shallow line` or `Expected git repo version`. A missing object is
 * `not our ref`, whether the client made up its id or the repository has lost it.
 */
const REJECTIONS = [
  'the remote end hung up unexpectedly|protocol error|no command requested|unexpected line: ',
  "[Ii]nvalid (?:command|deepen|shallow|filter-spec)|unknown (?:capability|object format) '",
  "expected (?:SHA1|object|flush|something after|'tree:)|command '|mismatched object format",
  'ambiguous deepen-not|deepen and |no commits selected|(?:filter|tree filter|filtering) |sparse:path',
  "multiple filter-specs|unknown ref |'.*' for 'object:type",
]
// Git prints a hint about our graft file first.
const REJECTION = new RegExp(
  String.raw`^(?:hint:[^\n]*\n)*fatal: (?:git upload-pack: )?((?:${REJECTIONS.join('|')}).*)`,
  's',
)

/** Returns git's message if the error is that of the request, not of the repository or of this machine. */
const rejectionReason = (error: unknown): string | undefined =>
  error instanceof GitFailed && error.exitCode === 128
    ? REJECTION.exec(error.stderr)?.[1]
    : undefined

export const LFS_TYPE = 'application/vnd.git-lfs+json'

/**
 * Returns the error handler of the git routes. It sends plain text, because git prints each line of the body after `remote: `. For
 * LFS it sends the JSON whose `message` git-lfs prints.
 */
export function gitErrorHandler(log: Logger, { isLfs = false } = {}) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, message } = prepareErrorResponse(error, log, request, reply)
    // Without this header, git does not ask for credentials.
    if (status === 401) reply.header('www-authenticate', 'Basic realm="Godwit", charset="UTF-8"')
    // The client may still be sending a body that the server will not read.
    if (!request.raw.complete) reply.header('connection', 'close')
    if (isLfs) reply.type(LFS_TYPE).send(JSON.stringify({ message, request_id: request.id }))
    else reply.type('text/plain; charset=utf-8').send(`${message}\n`)
  }
}
