import type { Discussions } from '../discussions.ts'
import { type ForgeOptions, forgeClient } from './client/forge-client.ts'
import { forgeGetter, type KnownForge } from './client/known-forge.ts'
import { forgeDiscussions } from './discussions/forge-discussions.ts'
import { type ForgeCatalogue, forgeCatalogue } from './forge-repositories.ts'
import { type ForgeRights, type KnownPerson, readRights } from './read-rights.ts'
import { ownerIn, type TokenOwner } from './token-owner.ts'

export type { ForgeBudget } from './client/forge-budget.ts'
export type { ForgeOptions } from './client/forge-client.ts'
export type { ForgeCatalogue, ForgeOrganization, ForgeRepository } from './forge-repositories.ts'
export type { ForgeRights, KnownPerson } from './read-rights.ts'
export { type AskedForge, askTokenOwner } from './token-owner.ts'

/** A Gitea or a Forgejo, asked with one token. All of it rejects with WaitUntil or ForgeRefused. */
export interface Forge {
  /** Without a slash at the end. */
  url: string
  discussions: Discussions
  catalogue: ForgeCatalogue
  learn(signal: AbortSignal): Promise<KnownForge>
  /** Whose the token is. */
  tokenOwner(signal: AbortSignal): Promise<TokenOwner>
  /** What a person may do there, asked in their name. */
  readRights(person: KnownPerson, signal: AbortSignal): Promise<ForgeRights>
}

/** Asks nothing of it yet. */
export function connectForge(options: ForgeOptions): Forge {
  const client = forgeClient(options)
  const { url } = client
  const now = options.now ?? Date.now
  const learn = forgeGetter(client, now)
  const stranger = forgeClient({ ...options, token: '' })
  return {
    url,
    discussions: forgeDiscussions(options),
    catalogue: forgeCatalogue({ getForge: learn, stranger, now }),
    learn,
    tokenOwner: async (signal) => ownerIn((await client.get('/user', {}, signal)).body, url),
    readRights: (person, signal) => readRights(client, person, signal),
  }
}
