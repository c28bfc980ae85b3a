import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Viewer } from '../../../accounts/account.ts'
import type { Write } from '../../../archive/copy-archive.ts'
import type { Db } from '../../../db/database.ts'
import { GitFailed } from '../../../git/git-end.ts'
import type { RepositoryName, ServedFetch, Source } from '../../../sources/source.ts'
import { Unreadable } from '../../../sources/unreadable.ts'
import type { Admission } from '../../middleware/admission.ts'
import { callerKey } from '../../middleware/caller-key.ts'
import type { ConcurrencyLimit } from '../../middleware/concurrency-limit.ts'
import { HttpError, repositoryNotFound, unavailable } from '../../middleware/refusals.ts'
import type { ReceivedBody } from '../../middleware/request-bodies.ts'
import type { DownloadCounts } from '../../middleware/taking-client.ts'
import { ClientGone, type ClientReader, watchClient } from '../../middleware/taking-client.ts'

export interface ServeParts {
  db: Db
  /** Absent where the repositories are not at hand, or not to be cloned. */
  source: Source | undefined
  places: ConcurrencyLimit
  admission: Admission
  outcomes: DownloadCounts
  log: Logger
  now: () => number
}

export interface ServedClone {
  repository: RepositoryName
  ofWiki: boolean
  answer: ServedFetch['answer']
  viewer: Viewer | null
  /** What the client asks; an advertisement needs nothing. */
  read: (() => Promise<ReceivedBody>) | undefined
}

/** All that come without a token count as one account. */
const ANONYMOUS = 0

/** One request of a git client, from its own git to the last byte of the answer. However it ends, that is counted. */
export async function serveClone(
  parts: ServeParts,
  request: FastifyRequest,
  reply: FastifyReply,
  clone: ServedClone,
): Promise<void> {
  const { source, places, admission, outcomes, log } = parts
  const { repository, viewer, read } = clone
  const about = { id: request.id, repository: `${repository.owner}/${repository.name}` }
  if (!source) {
    log.info(
      about,
      'cannot serve a clone: this process has no --repositories, or --max-clones is 0',
    )
    throw repositoryNotFound()
  }
  const client = watchClient(reply.raw)
  const accountId = viewer?.account.id
  let body: ReceivedBody | undefined
  try {
    body = await read?.()
    const leave = await places.take(callerKey(request), client.signal)
    try {
      admission.stream(reply.raw, accountId ?? ANONYMOUS)
      await run(source, client, reply, { ...clone, body })
      outcomes.add('whole')
    } finally {
      leave()
    }
  } catch (error) {
    if (error instanceof HttpError) throw error
    const isGone = client.signal.aborted || error instanceof ClientGone
    outcomes.add(isGone ? 'ended_by_client' : 'failed_at_source')
    if (isGone) log.info({ ...about, sent: client.sent() }, 'the client ended a clone')
    else log.warn({ err: error, ...about, sent: client.sent() }, 'a clone failed')
    endOrRefuse(reply, error)
  } finally {
    body?.release()
  }
}

async function run(
  source: Source,
  client: ClientReader,
  reply: FastifyReply,
  { repository, ofWiki, answer, body }: ServedClone & { body: ReceivedBody | undefined },
): Promise<void> {
  const protocolVersion = protocolVersionOf(reply.request)
  const over = new AbortController()
  const signal = AbortSignal.any([client.signal, over.signal])
  const git = await source.serveFetch(repository, { answer, ofWiki, protocolVersion, signal })
  // It may end without having read all of it: that is its failure to report.
  git.stdin.on('error', () => {})
  git.stdin.end(body?.bytes, () => body?.release())
  let write: Write | undefined
  const begin = async (): Promise<Write> => {
    const kind = answer === 'advertisement' ? 'advertisement' : 'result'
    write = client.begin(reply.type(`application/x-git-upload-pack-${kind}`))
    // Version 2 needs no such line, and git sends none.
    if (kind === 'advertisement' && protocolVersion < 2) await write(SERVICE_LINE)
    return write
  }
  try {
    for await (const bytes of git.stdout) await (write ?? (await begin()))(bytes)
    await git.done
    // Nothing to say is an answer as well: so git asks first whether its credentials are good.
    if (!write) await begin()
    reply.raw.end()
  } finally {
    over.abort()
    await git.done.catch(() => {})
  }
}

const SERVICE_LINE = Buffer.from('001e# service=git-upload-pack\n0000')

/** The highest that the client names, as git itself takes it. */
function protocolVersionOf({ headers }: FastifyRequest): 0 | 1 | 2 {
  const named = String(headers['git-protocol'] ?? '').split(':')
  return named.includes('version=2') ? 2 : named.includes('version=1') ? 1 : 0
}

/**
 * Where git has begun to answer it has told its client itself why it ends; where something ended it, only a connection that
 * breaks can tell that this is not all.
 */
function endOrRefuse(reply: FastifyReply, error: unknown): void {
  if (!reply.sent) {
    if (error instanceof Unreadable) throw new HttpError(404, error.message)
    throw unavailable()
  }
  const hasTold = error instanceof GitFailed && error.exitCode !== null && !error.cause
  if (hasTold && !error.tookTooLong) reply.raw.end()
  else reply.raw.destroy()
}
