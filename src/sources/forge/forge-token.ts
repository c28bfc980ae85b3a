import { readFile } from 'node:fs/promises'
import { codeOf } from '../../lib/errno.ts'
import { UserError } from '../../lib/user-error.ts'
import { ForgeRequestFailed, isNotFound, isUnauthorized, undefinedIf } from '../forge-errors.ts'
import { ForgeClient } from './client/forge-client.ts'
import * as json from './client/forge-values.ts'

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
  /** Logs a warning for the operator. */
  warn(message: string): void
}

/**
 * Reads the owner of a token from the forge, with that token. Returns undefined if the forge does not accept the token, or does not
 * let it read its own user and repositories: here it can read all that its owner may read. Rejects with ForgeUnavailable, with
 * ForgeRequestFailed, or with a TimeoutError after `deadlineMs`.
 */
export async function readTokenOwner(
  { url, now, deadlineMs = TIMEOUT_MS, warn }: TokenCheckOptions,
  token: string,
): Promise<ForgeUser | undefined> {
  const client = new ForgeClient({ url, token, now, timeoutMs: deadlineMs, pauseMs: 200 })
  const signal = AbortSignal.timeout(deadlineMs)
  const response = await client.get('/user', {}, signal).catch(undefinedIf(isUnauthorized))
  const user = response && parseUser(response.body, url)
  if (!user) return undefined
  const repositories = client.get('/user/repos', { limit: 1 }, signal)
  // A forge without this endpoint has no permissions of tokens either.
  const mayRead = repositories.catch(undefinedIf(isNotFound)).then(() => true)
  if (await mayRead.catch(undefinedIf(isUnauthorized))) return user
  warn(`${user.login} used a token without permission to read repositories (read:repository)`)
  return undefined
}

/** Parses a user of the API, such as the body of `/user`. Throws ForgeRequestFailed if it is not a user. */
export function parseUser(body: unknown, url: string): ForgeUser {
  const user = json.objectOf(body)
  const [id, login] = [
    json.integer(user, 'id'),
    json.string(user, 'login') || json.string(user, 'username'),
  ]
  if (id <= 0 || login === '') throw new ForgeRequestFailed(200, `${url} returned an invalid user`)
  return { id, login, createdAt: Date.parse(json.time(user, 'created')) }
}
