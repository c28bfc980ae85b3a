import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import type { Authenticator } from '../../accounts/authenticator.ts'
import { digestOf } from '../../accounts/token.ts'
import type { Db } from '../../db/database.ts'
import { allSoon, type Soon, soon } from '../../db/soon.ts'
import type { Migration } from '../../migrations/migration.ts'
import { findVersion } from '../../migrations/migration-store.ts'
import type { NoteAnswered } from './answered.ts'
import { tokenIn, viewerOf } from './authenticate.ts'
import type { RateLimit } from './rate-limit.ts'

interface RepeatingParts {
  db: Db
  authenticator: Authenticator
  limit: RateLimit
  note: NoteAnswered
  requestIdHeader: string
}

/** An answer as it was given, and what it rests on. */
interface Given {
  tokenDigest: string
  viewer: Viewer
  migrationId: number
  version: number
  status: number
  /** Names and values in turn, without those that every answer has of its own. */
  headers: string[]
  /** Bytes, or text with a character for each. */
  body: Buffer | string
  route: string | undefined
  ip: string
}

export interface RepeatedRequests {
  /** Answers what it can, and leaves everything else to the listener. */
  before(listener: RequestListener): RequestListener
  /** To be given again to whoever asks the same, for as long as the migration stands as it does. */
  remember(reply: FastifyReply, migration: Migration, body?: Buffer): void
  stop(): void
}

/** Up to here a text is sent in one piece with its head, which is quicker; beyond, bytes are, which are not copied. */
const MOST_AS_TEXT = 8 * 1024
/** Short, because tokens are among the words that requests are known by. */
const REMEMBERED_MS = 1000
const MOST_REMEMBERED = 1000
const MOST_BYTES = 32 * 1024 * 1024

/**
 * Clients that wait for a migration ask the same, word for word, again and again. Whether the token still holds, how much of
 * the rate limit is left and which version the migration has is asked anew each time; if it is the version of the last
 * answer, the answer is that one, and neither routing nor rendering is needed to find it.
 */
export function repeatedRequests(parts: RepeatingParts): RepeatedRequests {
  const { db, authenticator, limit, note, requestIdHeader } = parts
  const remembered = new Map<string, Given>()
  let bytes = 0
  let isStopped = false
  const forgetting = setInterval(forget, REMEMBERED_MS).unref()

  function forget(): void {
    remembered.clear()
    bytes = 0
  }

  /** Asks all that the answer rests on, and gives it again where that is what it was. */
  function giveAgain(given: Given, request: IncomingMessage, to: ServerResponse): Soon<boolean> {
    const { viewer, migrationId, status, ip } = given
    if (limit.isGuessing(ip)) return false
    const began = performance.now()
    const asked = allSoon([
      authenticator.viewerByDigest(given.tokenDigest),
      findVersion(db, viewer, migrationId),
      limit.countAnswered(viewer, status),
    ])
    return soon(asked, ([caller, version, standing]) => {
      if (!standing) return false
      if (caller?.account.id !== viewer.account.id || version !== given.version) {
        return soon(limit.uncountAnswered(viewer, status), () => false)
      }
      const id = randomUUID()
      const { method, url } = request as { method: string; url: string }
      const { login } = caller.account
      to.once('close', () => {
        const ms = performance.now() - began
        note({ id, method, url, route: given.route, status, ms, login, ip })
      })
      to.writeHead(status, [...given.headers, requestIdHeader, id, ...standing])
      to.end(given.body, 'latin1')
      return true
    })
  }

  return {
    before: (listener) => (request, response) => {
      const given = remembered.get(wordsOf(request))
      if (!given) return listener(request, response)
      const isAnswered = giveAgain(given, request, response)
      const orElse = (answered: boolean) => answered || listener(request, response)
      // Whatever went wrong goes wrong again there, and is told as it should be.
      if (isAnswered instanceof Promise) isAnswered.then(orElse, () => orElse(false))
      else orElse(isAnswered)
    },

    remember(reply, migration, body) {
      const { request } = reply
      const size = body?.length ?? 0
      if (isStopped || remembered.size >= MOST_REMEMBERED || bytes + size > MOST_BYTES) return
      if (request.method !== 'GET' || hasBody(request)) return
      bytes += size
      remembered.set(wordsOf(request.raw), {
        tokenDigest: digestOf(tokenIn(request.headers.authorization!)!),
        viewer: viewerOf(request),
        migrationId: migration.id,
        version: migration.version,
        status: reply.statusCode,
        headers: [...lastingHeaders(reply), ...(body ? ['content-length', String(size)] : [])],
        body: body && size > MOST_AS_TEXT ? body : (body?.toString('latin1') ?? ''),
        route: request.routeOptions.url,
        ip: request.ip,
      })
    },

    stop() {
      isStopped = true
      clearInterval(forgetting)
      forget()
    },
  }

  function lastingHeaders(reply: FastifyReply): string[] {
    return Object.entries(reply.getHeaders())
      .filter(
        ([name]) => name !== requestIdHeader.toLowerCase() && !name.startsWith('x-ratelimit-'),
      )
      .flatMap(([name, value]) => [name, String(value)])
  }
}

/** All that a caller says: whoever says the same is told the same. No part can hold the line break between them. */
function wordsOf({ method, url, rawHeaders, socket }: IncomingMessage): string {
  return `${method} ${url}\n${socket.remoteAddress}\n${rawHeaders.join('\n')}`
}

const hasBody = ({ headers }: FastifyRequest) =>
  'content-length' in headers || 'transfer-encoding' in headers
