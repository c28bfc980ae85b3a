import { ForgeRefused } from '../forge-errors.ts'
import { forgeClient } from './client/forge-client.ts'
import type { Entry } from './client/forge-pages.ts'
import { entryIn, numberIn, textIn, timeIn } from './client/forge-values.ts'

/** A person who has a token of the forge. */
export interface TokenOwner {
  id: number
  login: string
  createdAt: number
}

/** A person waits for the answer. */
const DEADLINE_MS = 5000

export interface AskedForge {
  url: string
  now: () => number
  deadlineMs?: number | undefined
}

/**
 * Asks the forge whose a token is, with that token and no other; undefined where the forge refuses it, or does not let it read
 * who it belongs to. Rejects with WaitUntil or ForgeRefused where that cannot be told.
 */
export async function askTokenOwner(
  { url, now, deadlineMs = DEADLINE_MS }: AskedForge,
  token: string,
): Promise<TokenOwner | undefined> {
  const client = forgeClient({ url, token, now, timeoutMs: deadlineMs, pauseMs: 200 })
  try {
    const { body } = await client.get('/user', {}, AbortSignal.timeout(deadlineMs))
    return ownerIn(body, url)
  } catch (error) {
    const isNo = error instanceof ForgeRefused && (error.status === 401 || error.status === 403)
    if (isNo) return undefined
    throw error
  }
}

/** Throws ForgeRefused where it is no person. */
export function ownerIn(body: unknown, url: string): TokenOwner {
  const user = entryIn({ body } as Entry, 'body') ?? {}
  const [id, login] = [numberIn(user, 'id'), textIn(user, 'login') || textIn(user, 'username')]
  if (id <= 0 || login === '')
    throw new ForgeRefused(200, `${url} does not name the owner of the token`)
  return { id, login, createdAt: Date.parse(timeIn(user, 'created')) }
}
