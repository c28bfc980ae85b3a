import { ForgeClient, type ForgeOptions } from './client/forge-client.ts'
import { knownForgeCache } from './client/known-forge.ts'
import { forgeDiscussions } from './discussions/forge-discussions.ts'
import { forgeCatalogue } from './forge-repositories.ts'
import { parseUser } from './forge-token.ts'
import { type KnownPerson, readRights } from './read-rights.ts'

export type { RequestBudget } from '../http/http-client.ts'
export type { ForgeOptions } from './client/forge-client.ts'
export type { ForgeCatalogue, ForgeOrganization, ForgeRepository } from './forge-repositories.ts'
export {
  checkTokenAccess,
  readTokenOwner,
  type TokenCheckOptions,
  type TokenRefusal,
} from './forge-token.ts'
export type { ForgeRights, KnownPerson } from './read-rights.ts'

/** A Gitea or Forgejo server, used with one token. Every method rejects with HostUnavailable or HostRequestFailed. */
export type Forge = ReturnType<typeof connectForge>

/** Creates the clients of a forge. Sends no request yet. */
export function connectForge(options: ForgeOptions) {
  const client = new ForgeClient(options)
  const { url } = client
  const now = options.now ?? Date.now
  const getForge = knownForgeCache(client, now)
  const anonymous = new ForgeClient({ ...options, token: '' })
  const { budget: _, ...unlimited } = options
  const prober = new ForgeClient(unlimited)
  return {
    /** Without a trailing slash. */
    url,
    discussions: forgeDiscussions(options, client, getForge),
    catalogue: forgeCatalogue({ getForge, anonymous, now }),
    getKnownForge: getForge,
    /** Sends one small request that does not count against the limit of requests. */
    probe: prober.probe,
    tokenOwner: async (signal: AbortSignal) =>
      parseUser((await client.get('/user', {}, signal)).body, url),
    readRights: async (person: KnownPerson, signal: AbortSignal) =>
      readRights(await getForge(signal), person, signal),
  }
}
