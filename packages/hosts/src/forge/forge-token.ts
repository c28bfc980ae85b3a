import { readFile } from 'node:fs/promises'
import { codeOf } from '@godwit/lib/errno'
import { UserError } from '@godwit/lib/user-error'
import { HostRequestFailed, isUnauthorized, undefinedIf } from '../host-errors.ts'
import { repositoryPath, segment } from '../host-url.ts'
import * as json from '../http/json-fields.ts'
import { listAll } from '../http/pages.ts'
import type { RepositoryName } from '../source.ts'
import { ForgeClient } from './client/forge-client.ts'

/**
 * Reads the forge's token from its file. Ignores spaces and empty lines that an editor may have added. Rejects with UserError, whose
 * message never contains anything from the file.
 */
export async function readForgeToken(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`cannot read the forge's token from ${file}: ${codeOf(error)}`)
  })
  const token = text.trim()
  if (token === '') throw new UserError(`the file of the forge's token is empty: ${file}`)
  if (!/^[\x21-\x7e]{1,1024}$/.test(token))
    throw new UserError(`the file of the forge's token holds more than a token: ${file}`)
  return token
}

export type ForgeUser = { id: number; login: string; createdAt: number }

/** Short, because a user waits for the result. */
const TIMEOUT_MS = 5000

export interface TokenCheckOptions {
  url: string
  now: () => number
  deadlineMs?: number | undefined
}

/** Why the forge lets a token read less than its owner. With it, a person would read more here than there. */
export interface TokenRefusal {
  /** Sentences for the owner of the token. They name nothing that the token may not read. */
  refusal: string
  /** The owner of the token, if the token may read that. */
  login?: string
}

/** What a token must be able to read: one request for each permission that the forge gives tokens. */
const PERMISSIONS = [
  ['read:repository', '/user/repos', {}],
  ['read:issue', '/repos/issues/search', { created: 'true' }],
  ['read:organization', '/user/orgs', {}],
  // Gitea denies this to tokens that are limited to public repositories.
  ['', '/user/teams', {}],
] as const

const REQUIRED = 'read:user, read:repository, read:issue and read:organization'
const ADVICE = `Create one with ${REQUIRED} that is not limited to public repositories.`
const PUBLIC_ONLY: TokenRefusal = {
  refusal: `The forge limits this token to what is public. ${ADVICE}`,
}

/**
 * Reads the owner of a token from the forge, with that token. Returns undefined if the forge does not accept the token, and a refusal
 * if the token may not read everything that its owner may: here it can. Rejects with HostUnavailable, with HostRequestFailed, or with
 * a TimeoutError after `deadlineMs`.
 */
export async function readTokenOwner(
  options: TokenCheckOptions,
  token: string,
): Promise<ForgeUser | TokenRefusal | undefined> {
  const { client, signal } = tokenClient(options, token)
  let user: ForgeUser
  try {
    user = parseUser((await client.get('/user', {}, signal)).body, client.url)
  } catch (error) {
    if (!isUnauthorized(error)) throw error
    // The forge may also refuse the account, for example because it requires a second factor.
    return isForbidden(error)
      ? {
          refusal: `The forge refuses this token. ${ADVICE} Sign in there to see what else it asks for.`,
        }
      : undefined
  }
  const lacking = await Promise.all(
    PERMISSIONS.map(async ([permission, path, query]) => {
      const request = client.get(path, { ...query, limit: 1 }, signal)
      return (await isRefused(request, isUnauthorized)) ? permission : undefined
    }),
  )
  const named = lacking.filter((permission) => permission)
  const { login } = user
  if (named.length > 0) return { refusal: `This token lacks ${named.join(', ')}. ${ADVICE}`, login }
  return lacking.includes('') ? { ...PUBLIC_ONLY, login } : user
}

/** What the forge grants an account: an example of the repositories, private if possible, and the ids of all organizations. */
export interface GrantedAccess {
  repository: RepositoryName | undefined
  organizations: readonly number[]
}

/**
 * Returns a refusal if the forge does not let the token read what it grants the owner: the token is limited to what is public, or the
 * forge requires a second factor. Rejects as `readTokenOwner` does.
 */
export async function checkTokenAccess(
  options: TokenCheckOptions,
  token: string,
  { repository, organizations }: GrantedAccess,
): Promise<TokenRefusal | undefined> {
  const { client, signal } = tokenClient(options, token)
  if (organizations.length > 0) {
    const listed = await listAll(client, { path: '/user/orgs', limit: PAGE_SIZE }, signal)
    const ids = new Set(listed.map((each) => json.integer(each, 'id')))
    if (organizations.some((id) => !ids.has(id))) return PUBLIC_ONLY
    // Forgejo lists private organizations to every token.
    const hidden = listed.find((each) => json.string(each, 'visibility') !== 'public')
    const path = hidden && `/orgs/${segment(json.organizationLogin(hidden))}`
    if (path && (await isRefused(client.get(path, {}, signal), isHidden))) return PUBLIC_ONLY
  }
  if (!repository) return undefined
  const labels = client.get(`${repositoryPath(repository)}/labels`, { limit: 1 }, signal)
  return (await isRefused(labels, isHidden))
    ? {
        refusal: `The forge does not let this token read your repositories: it may require a second factor of you, or limit the token. ${ADVICE}`,
      }
    : undefined
}

const PAGE_SIZE = 50

function tokenClient({ url, now, deadlineMs = TIMEOUT_MS }: TokenCheckOptions, token: string) {
  const client = new ForgeClient({ url, token, now, timeoutMs: deadlineMs, pauseMs: 200 })
  return { client, signal: AbortSignal.timeout(deadlineMs) }
}

async function isRefused(request: Promise<unknown>, isRefusal: (error: unknown) => boolean) {
  const response = await request.catch(undefinedIf(isRefusal))
  return response === undefined
}

const isForbidden = (error: unknown): boolean =>
  error instanceof HostRequestFailed && error.status === 403

/** A forge redirects the former name of a repository. */
const isHidden = (error: unknown): boolean =>
  error instanceof HostRequestFailed && [301, 302, 307, 308, 401, 403, 404].includes(error.status)

/** Parses a user of the API, such as the body of `/user`. Throws HostRequestFailed if it is not a user. */
export function parseUser(body: unknown, url: string): ForgeUser {
  const user = json.objectOf(body)
  const [id, login] = [
    json.integer(user, 'id'),
    json.string(user, 'login') || json.string(user, 'username'),
  ]
  if (id <= 0 || login === '') throw new HostRequestFailed(200, `${url} returned an invalid user`)
  return { id, login, createdAt: Date.parse(json.time(user, 'created')) }
}
