import { oneLine } from '../../lib/one-line.ts'
import { webPage } from '../../lib/public-url.ts'
import { ForgeRefused } from '../forge-errors.ts'
import type { RepositoryName, SourceFacts } from '../source.ts'
import { unlessAbsent } from './client/confirm-absence.ts'
import { segment } from './client/forge-address.ts'
import type { ForgeClient } from './client/forge-client.ts'
import { type Entry, type Listing, listAll } from './client/forge-pages.ts'
import {
  entryIn,
  flagIn,
  numberIn,
  organizationLogin,
  textIn,
  textOrNull,
  textsIn,
  timeIn,
} from './client/forge-values.ts'
import type { KnownForge } from './client/known-forge.ts'

/** What a forge knows better than the files of a repository. */
type SaidFacts = Pick<
  SourceFacts,
  | 'description'
  | 'homepage'
  | 'private'
  | 'archived'
  | 'isTemplate'
  | 'forkOf'
  | 'hasIssues'
  | 'hasProjects'
  | 'createdAt'
> &
  Partial<Pick<SourceFacts, 'topics'>>

/** A repository as the forge tells of it, with the forge's own spelling of its names. */
export interface ForgeRepository extends RepositoryName {
  facts: SaidFacts
  /** Where topics have an address of their own: changes when they do. */
  topicsAsOf?: string
}

export interface ForgeOrganization {
  /** Never given to another, unlike the login. */
  id: number
  login: string
}

/** Asks a forge which repositories there are. All of it rejects with WaitUntil or ForgeRefused. */
export interface ForgeCatalogue {
  /** All there are. */
  all(signal: AbortSignal): AsyncIterable<ForgeRepository>
  /** Those of an organization. */
  ofOrganization(login: string, signal: AbortSignal): Promise<ForgeRepository[]>
  find(name: RepositoryName, signal: AbortSignal): Promise<ForgeRepository | undefined>
  /** Of one whose answer has no topics. */
  topics(name: RepositoryName, signal: AbortSignal): Promise<string[]>
  /** Whether those who are not signed in may look around there; learned once an hour. */
  isOpen(signal: AbortSignal): Promise<boolean>
  organizations(signal: AbortSignal): Promise<ForgeOrganization[]>
  /** The one that has this login now; undefined if none has. */
  organization(login: string, signal: AbortSignal): Promise<ForgeOrganization | undefined>
}

const PAGE = 50
const HOUR_MS = 60 * 60 * 1000

export interface CatalogueParts {
  getForge(signal: AbortSignal): Promise<KnownForge>
  /** Has no token. */
  stranger: ForgeClient
  now: () => number
}

export function forgeCatalogue({ getForge, stranger, now }: CatalogueParts): ForgeCatalogue {
  let open: { isOpen: boolean; until: number } | undefined

  /** Whoever is no administrator is shown a part, and a part would read as if the rest were gone. */
  async function clientOf(signal: AbortSignal): Promise<ForgeClient> {
    const { client, mayHide } = await getForge(signal)
    if (mayHide)
      throw new ForgeRefused(403, `the token for ${client.url} is not an administrator's`)
    return client
  }

  return {
    async *all(signal) {
      const client = await clientOf(signal)
      // By number: what is new comes last, and moves nothing.
      const query = { sort: 'id', order: 'asc' }
      const listing: Listing = {
        path: '/repos/search',
        query,
        limit: PAGE,
        within: 'data',
        isUsable,
      }
      for (const entry of await listAll(client, listing, signal)) yield* repositoryIn(entry)
    },

    async ofOrganization(login, signal) {
      const listing = { path: `/orgs/${segment(login)}/repos`, limit: PAGE, isUsable }
      return (await listAll(await clientOf(signal), listing, signal)).flatMap(repositoryIn)
    },

    async find({ owner, name }, signal) {
      const path = `/repos/${segment(owner)}/${segment(name)}`
      return findAt(await clientOf(signal), path, repositoryIn, signal)
    },

    async topics({ owner, name }, signal) {
      const path = `/repos/${segment(owner)}/${segment(name)}/topics`
      const { body } = await (await clientOf(signal)).get(path, { limit: PAGE }, signal)
      return textsIn((body ?? {}) as Entry, 'topics')
    },

    async isOpen(signal) {
      if (!open || open.until < now())
        open = { isOpen: await mayLook(stranger, signal), until: now() + HOUR_MS }
      return open.isOpen
    },

    async organizations(signal) {
      const listing = { path: '/orgs', limit: PAGE }
      return (await listAll(await clientOf(signal), listing, signal)).flatMap(organizationIn)
    },

    async organization(login, signal) {
      const client = await clientOf(signal)
      return findAt(client, `/orgs/${segment(login)}`, organizationIn, signal)
    },
  }
}

/** Returns what is at an address of the forge; undefined if nothing is, or if it was renamed and is somewhere else now. */
async function findAt<T>(
  client: ForgeClient,
  path: string,
  read: (entry: Entry) => T[],
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    const answer = await unlessAbsent(client, () => client.get(path, {}, signal), signal)
    if (!answer) return undefined
    const [found] = read((answer.body ?? {}) as Entry)
    if (!found) throw new ForgeRefused(200, `the answer of ${client.url}${path} names nothing`)
    return found
  } catch (error) {
    // What is on disk by an old name is not the one that was renamed.
    if (error instanceof ForgeRefused && [301, 302, 307, 308].includes(error.status))
      return undefined
    throw error
  }
}

async function mayLook(stranger: ForgeClient, signal: AbortSignal): Promise<boolean> {
  try {
    await stranger.get('/version', {}, signal)
    return true
  } catch (error) {
    if (error instanceof ForgeRefused && (error.status === 401 || error.status === 403))
      return false
    throw error
  }
}

/** What a forge shows only to those who are signed in is private too: who asks here may have no token. */
const isPrivate = (entry: Entry): boolean =>
  flagIn(entry, 'private') ||
  flagIn(entry, 'internal') ||
  ['limited', 'private'].includes(textIn(entryIn(entry, 'owner') ?? {}, 'visibility'))

/** None where it has no number or no name. */
export function organizationIn(entry: Entry): ForgeOrganization[] {
  const [id, login] = [numberIn(entry, 'id'), organizationLogin(entry)]
  return id > 0 && login !== '' ? [{ id, login }] : []
}
const isUsable = (entry: Entry): boolean => repositoryIn(entry).length > 0

/** None where it has no name. */
export function repositoryIn(entry: Entry): ForgeRepository[] {
  const [owner, name] = textIn(entry, 'full_name').split('/')
  if (!owner || !name) return []
  const parent = entryIn(entry, 'parent')
  return [
    {
      owner,
      name,
      facts: {
        description: oneLine(textIn(entry, 'description')),
        homepage: webPage(textIn(entry, 'website')),
        private: isPrivate(entry),
        archived: flagIn(entry, 'archived'),
        isTemplate: flagIn(entry, 'template'),
        forkOf: flagIn(entry, 'fork') && parent ? textOrNull(parent, 'full_name') : null,
        hasIssues: flagIn(entry, 'has_issues'),
        hasProjects: flagIn(entry, 'has_projects'),
        createdAt: Date.parse(timeIn(entry, 'created_at')),
        ...('topics' in entry && { topics: textsIn(entry, 'topics') }),
      },
      ...(!('topics' in entry) && { topicsAsOf: textIn(entry, 'updated_at') }),
    },
  ]
}
