import { isAtLeast } from '@godwit/lib/is-at-least'
import { HostNotFound, HostRequestFailed } from '../../host-errors.ts'
import type { HttpClient } from '../../http/http-client.ts'

export interface ForgeVersion {
  kind: 'Gitea' | 'Forgejo'
  /** As `/version` returns it. */
  text: string
  /** The version of Gitea, or of the Gitea that this Forgejo descends from: `[1, 21]`. */
  gitea: readonly [number, number]
}

const MIN_VERSION: readonly [number, number] = [1, 15]

/**
 * Parses versions such as `1.22.3`, `1.26.0+dev-489-gc9a038bc4e`, `7.0.3+gitea-1.21.11`, `11.0.1-105-abc+gitea-1.22.0` and
 * `1.21.11-0`. Forgejo before 7 reported the version of Gitea that it was built from.
 */
export function parseVersion(text: string): ForgeVersion | undefined {
  const ancestor = /\+gitea-(\d+)\.(\d+)/.exec(text)
  const found = ancestor ?? /^v?(\d+)\.(\d+)/.exec(text)
  if (!found) return undefined
  const gitea = [Number(found[1]), Number(found[2])] as const
  return { kind: ancestor ? 'Forgejo' : 'Gitea', text, gitea }
}

/** Returns which endpoints and fields this version has. A capability is also turned off if its endpoint responds with 404. */
export const capabilitiesOf = ({ gitea }: ForgeVersion) => ({
  /** `/issues/N/timeline` */
  timeline: isAtLeast(gitea, [1, 16]),
  /** `/collaborators/LOGIN/permission` */
  permissions: isAtLeast(gitea, [1, 17]),
  /** `assets` of issues and comments */
  issueAssets: isAtLeast(gitea, [1, 20]),
  /** `/issues/N/dependencies` */
  dependencies: isAtLeast(gitea, [1, 20]),
  /** The operator may hide all repositories from people without a second factor (`TWO_FACTOR_AUTH`), but they are still listed. */
  enforcedSecondFactor: isAtLeast(gitea, [1, 24]),
})

const NOT_A_FORGE = ' is not a Gitea or Forgejo server'

/** Rejects with HostRequestFailed if the server is not a supported version of Gitea or Forgejo. */
export async function readVersion(
  client: Pick<HttpClient, 'url' | 'get'>,
  signal: AbortSignal,
): Promise<ForgeVersion> {
  const { body } = await client.get('/version', {}, signal).catch((error: unknown) => {
    if (!(error instanceof HostNotFound)) throw error
    throw new HostRequestFailed(404, `${client.url}${NOT_A_FORGE}: it has no /api/v1/version`)
  })
  const text = (body as { version?: unknown } | null)?.version
  const version = typeof text === 'string' ? parseVersion(text) : undefined
  if (!version) throw new HostRequestFailed(200, `${client.url}${NOT_A_FORGE}`)
  if (!isAtLeast(version.gitea, MIN_VERSION))
    throw new HostRequestFailed(200, `${client.url} is Gitea ${text}: 1.15 or later is required`)
  return version
}
