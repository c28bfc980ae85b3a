import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../../accounts/account.ts'
import { findTokenHolder } from '../../../accounts/token-store.ts'
import type { Db } from '../../../db/database.ts'
import { isName } from '../../../lib/names.ts'
import { RECENT, type RightsRefresher } from '../../../repositories/refresh-rights.ts'
import {
  findVisibleRepository,
  type VisibleRepository,
} from '../../../repositories/visible-repository.ts'
import { tokenIn } from '../../middleware/authenticate.ts'
import type { FailedLogins } from '../../middleware/failed-logins.ts'
import type { Forwarding } from '../../middleware/forwarding.ts'
import { gitErrorHandler } from '../../middleware/github-errors.ts'
import type { RateLimit } from '../../middleware/rate-limit.ts'
import {
  cloneRequestTooLarge,
  notUploadPackRequest,
  pushRefused,
  repositoryNotFound,
  requiresAuthentication,
  serviceUnknown,
} from '../../middleware/refusals.ts'
import type { ReadBody, ReceivedBody } from '../../middleware/request-bodies.ts'
import { type CloneTokens, isCloneToken } from './clone-tokens.ts'
import { type ServedClone, type ServeParts, serveClone } from './serve-clone.ts'

export interface CloneParts extends ServeParts {
  tokens: CloneTokens
  readBody: ReadBody
  limit: RateLimit
  logins: FailedLogins
  forwarding: Forwarding
  /** Absent where there is no forge to ask. */
  rights?: RightsRefresher | undefined
}

interface Named {
  Params: { owner: string; name: string }
  Querystring: Record<string, unknown>
}

const NEVER_KEPT = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
}

/** Git's own protocol, for reading: `git clone`, `fetch` and `ls-remote` at `OWNER/NAME.git`, or without `.git`. */
export function clones(app: FastifyInstance, parts: CloneParts): void {
  app.register(async (git) => {
    git.setErrorHandler(gitErrorHandler(parts.log))
    git.removeAllContentTypeParsers()
    // It is read by whoever knows how much of it may be.
    git.addContentTypeParser('*', (_request, _payload, done) => done(null))
    git.addHook('onRequest', async (request, reply) => {
      reply.headers(NEVER_KEPT).header('x-request-id', request.id)
      parts.forwarding.check(request)
    })
    addRoutes(git, parts)
  })
}

/** Once unpacked: about 300,000 refs and commits, which git names in 50 bytes each. Its own server takes 10 MiB. */
const CLONE_BODY = {
  maxBytes: 16 * 1024 * 1024,
  tooLarge: cloneRequestTooLarge,
  isUnpacked: true,
}

function addRoutes(git: FastifyInstance, parts: CloneParts): void {
  git.get<Named>('/:owner/:name/info/refs', { exposeHeadRoute: false }, async (request, reply) => {
    const { service } = request.query
    if (service === 'git-receive-pack') throw pushRefused()
    if (service !== 'git-upload-pack') throw serviceUnknown()
    return serve(request, reply, 'advertisement', undefined)
  })

  git.post<Named>('/:owner/:name/git-upload-pack', async (request, reply) => {
    const type = request.headers['content-type']?.trim().toLowerCase()
    if (type !== 'application/x-git-upload-pack-request') throw notUploadPackRequest()
    return serve(request, reply, 'request', () => parts.readBody(request, CLONE_BODY))
  })

  git.post('/:owner/:name/git-receive-pack', async () => {
    throw pushRefused()
  })

  async function serve(
    request: FastifyRequest<Named>,
    reply: FastifyReply,
    answer: ServedClone['answer'],
    read: (() => Promise<ReceivedBody>) | undefined,
  ): Promise<FastifyReply> {
    const { viewer, seen, ofWiki } = await whatIsAsked(parts, request)
    request.viewer = viewer
    if (viewer) await parts.limit.count({ viewer, ip: request.ip }, reply)
    else if (seen) await parts.limit.countAddress(request.ip, reply)
    // Nobody learns without a token what there is that is not public.
    if (!seen) throw viewer ? repositoryNotFound() : requiresAuthentication()
    const { owner, name } = seen.entry
    const repository = { owner: owner.login, name }
    await serveClone(parts, request, reply, { repository, ofWiki, answer, viewer, read })
    return reply
  }
}

interface Asked {
  viewer: Viewer | null
  /** Undefined where there is none that the caller may read. */
  seen: VisibleRepository | undefined
  ofWiki: boolean
}

async function whatIsAsked(parts: CloneParts, request: FastifyRequest<Named>): Promise<Asked> {
  const { db, rights, logins } = parts
  const { viewer, onlyId } = await whoAsks(parts, request)
  let { seen, ofWiki } = await seenBy(db, null, request.params)
  // Nobody need be asked who may read what is public.
  if (!seen && viewer) {
    await rights?.refresh(viewer.account, RECENT)
    ;({ seen, ofWiki } = await seenBy(db, viewer, request.params))
  }
  // As any credential that is not good here.
  if (onlyId !== undefined && seen?.entry.id !== onlyId) return logins.refuse(request.ip)
  return { viewer, seen, ofWiki }
}

async function seenBy(
  db: Db,
  viewer: Viewer | null,
  { owner, name: asked }: Named['Params'],
): Promise<Omit<Asked, 'viewer'>> {
  const find = async (name: string) =>
    isName(owner) && isName(name) ? findVisibleRepository(db, viewer, { owner, name }) : undefined
  const name = asked.replace(/\.git$/, '')
  const seen = await find(name)
  if (seen || !name.endsWith('.wiki')) return { seen, ofWiki: false }
  return { seen: await find(name.slice(0, -'.wiki'.length)), ofWiki: true }
}

async function whoAsks(
  { db, tokens, logins, now }: CloneParts,
  { headers: { authorization }, ip }: FastifyRequest,
): Promise<{ viewer: Viewer | null; onlyId?: number }> {
  if (!authorization) return { viewer: null }
  const credential = cloneCredential(authorization)
  if (credential === undefined || !isCloneToken(credential)) {
    return { viewer: await logins.viewerOf(credential, ip) }
  }
  const token = tokens.read(credential)
  const viewer = token && (await findTokenHolder(db, token.tokenId, now()))
  return viewer ? { viewer, onlyId: token.repositoryId } : logins.refuse(ip)
}

const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i
/** As a password, it says that the token is the user's name. */
const NO_PASSWORD = new Set(['', 'x-oauth-basic'])

/**
 * The token that a git client sends. Git itself knows names and passwords only: the token is the password of any name, or the
 * name of no password. Undefined where there is none in it.
 */
function cloneCredential(authorization: string): string | undefined {
  const encoded = BASIC.exec(authorization)?.[1]
  if (encoded === undefined) return tokenIn(authorization)
  const [, name = '', password = ''] =
    /^([^:]*):?(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return (NO_PASSWORD.has(password) ? name : password) || undefined
}
