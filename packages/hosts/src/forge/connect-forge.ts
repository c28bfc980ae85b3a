import { ForgeClient, type ForgeOptions } from './client/forge-client.ts'
import { knownForgeCache } from './client/known-forge.ts'
import { forgeDiscussions } from './discussions/forge-discussions.ts'
import { createForgeRepositories } from './forge-repositories.ts'
import { parseUser } from './forge-token.ts'
import { type KnownPerson, readPermissions } from './read-permissions.ts'

export type { RequestBudget } from '../http/http-client.ts'
export type { ForgeOptions } from './client/forge-client.ts'
export type { ForgeOrganization, ForgeRepositories, ForgeRepository } from './forge-repositories.ts'
export {
  checkTokenAccess,
  readTokenOwner,
  type TokenCheckOptions,
  type TokenRefusal,
} from './forge-token.ts'
export type { ForgePermissions, KnownPerson } from './read-permissions.ts'

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
    forgeRepositories: createForgeRepositories({ getForge, anonymous, now }),
    getKnownForge: getForge,
    /** Sends one small request that does not count against the limit of requests. */
    probe: prober.probe,
    tokenOwner: async (signal: AbortSignal) =>
      parseUser((await client.get('/user', {}, signal)).body, url),
    readPermissions: async (person: KnownPerson, signal: AbortSignal) =>
      readPermissions(await getForge(signal), person, signal),
  }
}
