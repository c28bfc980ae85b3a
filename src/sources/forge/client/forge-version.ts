import { ForgeNotFound, ForgeRefused, isDenied } from '../../forge-errors.ts'
import type { ForgeClient } from './forge-client.ts'

export interface ForgeVersion {
  kind: 'Gitea' | 'Forgejo'
  /** As the forge says it. */
  text: string
  /** Of the Gitea that it is, or that it descends from: `[1, 21]`. */
  gitea: readonly [number, number]
}

/** What a version may lack. Where it claims to have something and answers 404, that counts as lacking. */
export interface Capabilities {
  /** `/issues/N/timeline` */
  timeline: boolean
  /** `assets` of issues and comments */
  issueAssets: boolean
  /** `/collaborators/LOGIN/permission` */
  permissions: boolean
}

/** The oldest that is read. */
const OLDEST: readonly [number, number] = [1, 15]

/**
 * Such as `1.22.3`, `1.26.0+dev-489-gc9a038bc4e`, `7.0.3+gitea-1.21.11`, `11.0.1-105-abc+gitea-1.22.0`, `1.21.11-0`. A Forgejo
 * before its version 7 said the version of the Gitea that it was.
 */
export function parseVersion(text: string): ForgeVersion | undefined {
  const descends = /\+gitea-(\d+)\.(\d+)/.exec(text)
  const own = /^v?(\d+)\.(\d+)/.exec(text)
  const found = descends ?? own
  if (!found) return undefined
  const gitea = [Number(found[1]), Number(found[2])] as const
  return { kind: descends ? 'Forgejo' : 'Gitea', text, gitea }
}

export function capabilitiesOf({ gitea }: ForgeVersion): Capabilities {
  const has = isAtLeast(gitea, [1, 17])
  return { timeline: has, permissions: has, issueAssets: isAtLeast(gitea, [1, 20]) }
}

const isAtLeast = ([a, b]: readonly [number, number], [c, d]: readonly [number, number]) =>
  a > c || (a === c && b >= d)

/** Asks who answers there. Rejects with ForgeRefused where it is no Gitea or Forgejo that can be read. */
export async function askVersion(client: ForgeClient, signal: AbortSignal): Promise<ForgeVersion> {
  const { body } = await client.get('/version', {}, signal).catch((error: unknown) => {
    if (!(error instanceof ForgeNotFound)) throw error
    throw new ForgeRefused(404, `${client.url} is no Gitea or Forgejo: it has no /api/v1/version`)
  })
  const text = (body as { version?: unknown } | null)?.version
  const version = typeof text === 'string' ? parseVersion(text) : undefined
  if (!version) throw new ForgeRefused(200, `${client.url} is no Gitea or Forgejo`)
  if (!isAtLeast(version.gitea, OLDEST))
    throw new ForgeRefused(200, `${client.url} is Gitea ${text}: 1.15 or newer is needed`)
  return version
}

/** How many entries a page may have; half a hundred where the forge does not say. */
export async function askPageSize(client: ForgeClient, signal: AbortSignal): Promise<number> {
  const { body } = await client.get('/settings/api', {}, signal).catch((error: unknown) => {
    if (isDenied(error)) return { body: null }
    throw error
  })
  const most = (body as { max_response_items?: unknown } | null)?.max_response_items
  return typeof most === 'number' && most >= 1 ? Math.min(50, Math.floor(most)) : 50
}
