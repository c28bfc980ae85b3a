import { type CloneTokens, cloneTokens } from '../http/routes/clones/clone-tokens.ts'
import { repeatedly } from '../lib/repeatedly.ts'
import { signingKey } from '../migrations/secret-store.ts'
import type { Config } from '../settings/config.ts'
import type { ProcessParts } from './process-parts.ts'

const READ_EVERY_MS = 10_000

/** The key is read again and again: where it was replaced, what the old one has signed ends without a restart. */
export async function keepCloneTokens(
  config: Config,
  { db, now, log, source }: ProcessParts,
  stack: AsyncDisposableStack,
): Promise<CloneTokens> {
  let key = await signingKey(db, 'clone-key')
  async function readAgain(): Promise<void> {
    const read = await signingKey(db, 'clone-key')
    if (!read.equals(key)) key = read
  }
  const reading = repeatedly(readAgain, READ_EVERY_MS, (err) =>
    log.error({ err }, 'could not read the key of clone tokens'),
  )
  stack.defer(reading.stop)
  const isServed = source !== undefined && config.maxClones > 0 && isCloneAddressOurs(config)
  return cloneTokens({ key: () => key, now, isServed })
}

/** A token is for this server alone: where clients are sent elsewhere, it would only be shown to a stranger. */
function isCloneAddressOurs({ baseUrl, cloneUrl }: Pick<Config, 'baseUrl' | 'cloneUrl'>): boolean {
  return cloneUrl.replace(/\.git$/, '') === `${baseUrl}/{owner}/{name}`
}
