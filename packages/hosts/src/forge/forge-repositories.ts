import { oneLine } from '@godwit/lib/terminal-text'
import { HostRequestFailed, isUnauthorized, undefinedIf } from '../host-errors.ts'
import { repositoryPath, segment } from '../host-url.ts'
import { undefinedIfAbsent } from '../http/confirm-absence.ts'
import type { ApiClient } from '../http/http-client.ts'
import type { Json } from '../http/json-fields.ts'
import * as json from '../http/json-fields.ts'
import { type Listing, listAll } from '../http/pages.ts'
import { webPage } from '../public-url.ts'
import type { RepositoryName, SourceMetadata } from '../source.ts'
import { cacheForAnHour, type KnownForge } from './client/known-forge.ts'

/** The names are spelled as on the forge. */
export interface ForgeRepository extends RepositoryName {
  /** These override the metadata from the files of the repository. */
  metadata: ReturnType<typeof parseMetadata>
  /** The time of the last change, if this version of the forge has a separate endpoint for topics. */
  topicsAsOf?: string
}

export interface ForgeOrganization {
  /** Never changes, unlike the login. */
  id: number
  login: string
}

export type ForgeRepositories = ReturnType<typeof createForgeRepositories>

/** Gitea allows 25 topics. */
const MAX_TOPICS = 50

interface ForgeRepositoriesDependencies {
  getForge(signal: AbortSignal): Promise<KnownForge>
  /** A client without a token. */
  anonymous: ApiClient
  now: () => number
}

/** Reads the repositories and organizations of a forge. Every method rejects with HostUnavailable or HostRequestFailed. */
export function createForgeRepositories({
  getForge,
  anonymous,
  now,
}: ForgeRepositoriesDependencies) {
  /** Rejects if the token is not an administrator's: its lists may omit repositories, which would then look deleted. */
  async function getAdminForge(signal: AbortSignal): Promise<KnownForge> {
    const forge = await getForge(signal)
    const { url } = forge.client
    if (forge.isTokenRestricted)
      throw new HostRequestFailed(403, `the token for ${url} is not an administrator's`)
    return forge
  }

  async function list(listing: Omit<Listing, 'limit'>, signal: AbortSignal) {
    const { client, paging } = await getAdminForge(signal)
    return listAll(client, { ...listing, ...paging }, signal)
  }

  return {
    async *all(signal: AbortSignal) {
      const listing = {
        path: '/repos/search',
        // In the order of ids, a new repository comes last and does not move others to another page.
        query: { sort: 'id', order: 'asc' },
        within: 'data',
        isUsable: isRepository,
      }
      for (const entry of await list(listing, signal)) yield* parseRepository(entry)
    },

    async ofOrganization(login: string, signal: AbortSignal) {
      const path = `/orgs/${segment(login)}/repos`
      return (await list({ path, isUsable: isRepository }, signal)).flatMap(parseRepository)
    },

    async find(name: RepositoryName, signal: AbortSignal) {
      const { client } = await getAdminForge(signal)
      return findAt(client, repositoryPath(name), parseRepository, signal)
    },

    /** Gets the topics of a repository that has `topicsAsOf`. */
    async topics(name: RepositoryName, signal: AbortSignal) {
      const { client } = await getAdminForge(signal)
      const path = `${repositoryPath(name)}/topics`
      const { body } = await client.get(path, { limit: MAX_TOPICS }, signal)
      return json.strings(json.objectOf(body), 'topics')
    },

    /** Returns whether anonymous users may see public repositories. */
    isOpen: cacheForAnHour(now, async (signal) => {
      const request = anonymous.get('/version', {}, signal)
      return (await request.catch(undefinedIf(isUnauthorized))) !== undefined
    }),

    async organizations(signal: AbortSignal) {
      return (await list({ path: '/orgs' }, signal)).flatMap(parseOrganization)
    },

    /** Returns the organization that has this login now. */
    async organization(login: string, signal: AbortSignal) {
      const { client } = await getAdminForge(signal)
      return findAt(client, `/orgs/${segment(login)}`, parseOrganization, signal)
    },
  }
}

/** Returns undefined if there is no such object, or if it was renamed. */
export async function findAt<T>(
  client: ApiClient,
  path: string,
  read: (entry: Json) => T[],
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    const response = await undefinedIfAbsent(client, () => client.get(path, {}, signal), signal)
    if (!response) return undefined
    const [found] = read(json.objectOf(response.body))
    if (!found) throw new HostRequestFailed(200, `${client.url}${path} returned an invalid object`)
    return found
  } catch (error) {
    // A forge redirects the old name of a renamed object. A repository on disk with the old name is a different one.
    if (error instanceof HostRequestFailed && [301, 302, 307, 308].includes(error.status))
      return undefined
    throw error
  }
}

/** A repository that the forge shows only to signed-in users counts as private, because this service has anonymous users. */
const isPrivate = (entry: Json): boolean =>
  json.boolean(entry, 'private') ||
  json.boolean(entry, 'internal') ||
  ['limited', 'private'].includes(json.string(json.object(entry, 'owner') ?? {}, 'visibility'))

/** Returns an empty list if the object is not an organization. */
export function parseOrganization(entry: Json): ForgeOrganization[] {
  const [id, login] = [json.integer(entry, 'id'), json.organizationLogin(entry)]
  return id > 0 && login !== '' ? [{ id, login }] : []
}

const isRepository = (entry: Json): boolean => parseRepository(entry).length > 0

/** Returns an empty list if the object is not a repository. */
export function parseRepository(entry: Json): ForgeRepository[] {
  const [owner, name] = json.string(entry, 'full_name').split('/')
  if (!owner || !name) return []
  const topicsAsOf = 'topics' in entry ? {} : { topicsAsOf: json.string(entry, 'updated_at') }
  return [{ owner, name, metadata: parseMetadata(entry), ...topicsAsOf }]
}

const parseMetadata = (entry: Json) => {
  const parent = json.object(entry, 'parent')
  return {
    description: oneLine(json.string(entry, 'description')),
    homepage: webPage(json.string(entry, 'website')),
    private: isPrivate(entry),
    archived: json.boolean(entry, 'archived'),
    isTemplate: json.boolean(entry, 'template'),
    forkOf: json.boolean(entry, 'fork') && parent ? json.stringOrNull(parent, 'full_name') : null,
    hasIssues: json.boolean(entry, 'has_issues'),
    hasProjects: json.boolean(entry, 'has_projects'),
    createdAt: Date.parse(json.time(entry, 'created_at')),
    ...('topics' in entry && { topics: json.strings(entry, 'topics') }),
  } satisfies Partial<SourceMetadata>
}
