import { readFile } from 'node:fs/promises'
import { codeOf } from '../../lib/errno.ts'
import { ForgeRequestFailed } from '../forge-errors.ts'
import { ForgeClient } from './client/forge-client.ts'
import { integerIn, objectOf, stringIn, timeIn } from './client/forge-values.ts'

/** The message never contains anything from the file. */
export class InvalidForgeToken extends Error {
  override name = 'InvalidForgeToken'
}

/** Reads the forge's token from its file. An editor may have added spaces or an empty line. */
export async function readForgeToken(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InvalidForgeToken(`cannot read the forge's token from ${file}: ${codeOf(error)}`)
  })
  const token = text.trim()
  if (token === '') throw new InvalidForgeToken(`the file of the forge's token is empty: ${file}`)
  if (!/^[\x21-\x7e]{1,1024}$/.test(token))
    throw new InvalidForgeToken(`the file of the forge's token holds more than a token: ${file}`)
  return token
}

export interface TokenOwner {
  id: number
  login: string
  createdAt: number
}

/** A person waits for the result. */
const TIMEOUT_MS = 5000

export interface AskedForge {
  url: string
  now: () => number
  deadlineMs?: number | undefined
}

/**
 * Asks the forge who owns a token, using only that token. Returns undefined if the forge does not accept the token, or does not let
 * it read its own user. Rejects with ForgeUnavailable or ForgeRequestFailed if the forge cannot tell.
 */
export async function askTokenOwner(
  { url, now, deadlineMs = TIMEOUT_MS }: AskedForge,
  token: string,
): Promise<TokenOwner | undefined> {
  const client = new ForgeClient({ url, token, now, timeoutMs: deadlineMs, pauseMs: 200 })
  try {
    const { body } = await client.get('/user', {}, AbortSignal.timeout(deadlineMs))
    return ownerIn(body, url)
  } catch (error) {
    if (error instanceof ForgeRequestFailed && (error.status === 401 || error.status === 403))
      return undefined
    throw error
  }
}

/** Reads the body of `/user`. Throws ForgeRequestFailed if it is not a user. */
export function ownerIn(body: unknown, url: string): TokenOwner {
  const user = objectOf(body)
  const [id, login] = [integerIn(user, 'id'), stringIn(user, 'login') || stringIn(user, 'username')]
  if (id <= 0 || login === '')
    throw new ForgeRequestFailed(200, `${url} does not name the owner of the token`)
  return { id, login, createdAt: Date.parse(timeIn(user, 'created')) }
}
