import { createHash } from 'node:crypto'
import { keyOf } from '../accounts/account.ts'
import { accountOfForgeOrganization } from '../accounts/forge-account.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../lib/names.ts'
import type {
  ForgeCatalogue,
  ForgeOrganization,
  ForgeRepository,
} from '../sources/forge/connect-forge.ts'
import type { FoundRepository, ListedEntry, RepositoryName, Source } from '../sources/source.ts'
import {
  deleteForgeRepository,
  findForgeRepository,
  listForgeRepositories,
  replaceForgeRepositories,
  upsertForgeRepositories,
} from './forge-repository-store.ts'
import { asForgeUnreachable, ForgeUnreachable } from './forge-unreachable.ts'
import { keyOfName } from './repository-store.ts'

export interface ForgeSourceParts {
  db: Db
  catalogue: ForgeCatalogue
  now: () => number
  /** Called with what an operator should know. */
  warn(message: string): void
}

const MINUTE_MS = 60_000
const LISTING_MS = 10 * MINUTE_MS
const ANSWER_MS = 20_000
/** What a listing has not shown is asked for by name: pages shift while they are read. So many at most. */
const MAX_ASKED = 200

const UNKNOWN = 'the forge does not know this repository'

/**
 * Repositories on disk as the forge tells of them: with its names, its description, and private where it says so. What it does not
 * know is nobody's. Where the forge does not answer, what it said last holds for `list`; `find` then rejects with ForgeUnreachable, unless
 * the forge was asked in the last minute.
 */
export function forgeSource(source: Source, parts: ForgeSourceParts): Source {
  const { catalogue, now, warn } = parts
  const said = new WeakMap<FoundRepository, ForgeRepository>()
  let wasOpen = false

  /** Where only those who are signed in may look, nothing is public: who asks here may have no token. */
  async function mayBePublic(): Promise<boolean> {
    wasOpen = await catalogue.isOpen(AbortSignal.timeout(ANSWER_MS)).catch((error: unknown) => {
      ignoreAway(error)
      return wasOpen
    })
    return wasOpen
  }

  function asSaid(found: FoundRepository, told: ForgeRepository, isOpen: boolean): FoundRepository {
    const facts = isOpen ? told.facts : { ...told.facts, private: true }
    const repository = { ...told, facts }
    const { owner, name } = repository
    const stamp = `${found.stamp} ${digestOf(repository)}`
    const shown = { ...found, owner, name, stamp }
    said.set(shown, repository)
    return shown
  }

  return {
    ...source,

    async *list(spellingOf) {
      const listing = await listAll(parts)
      const isOpen = listing.isFresh ? await mayBePublic() : wasOpen
      let asked = 0
      const isAskedFor = () => listing.isFresh && asked++ < MAX_ASKED
      for await (const row of source.list(spellingOf)) {
        if (!('found' in row)) {
          yield row
          continue
        }
        const { found } = row
        const known =
          listing.repositories.get(keyOfName(found)) ??
          (isAskedFor() ? await askFor(parts, found).catch(ignoreAway) : undefined)
        yield known ? { found: asSaid(found, known, isOpen) } : notKnown(found, listing.isFresh)
      }
    },

    async find(owner, name) {
      const found = await source.find(owner, name)
      const known = found && (await freshlySaid(parts, found))
      return known && asSaid(found, known, await mayBePublic())
    },

    async whyHidden(name) {
      return (await source.find(name.owner, name.name)) ? UNKNOWN : undefined
    },

    async facts(found, known, signal) {
      const facts = await source.facts(found, known, signal)
      const repository = said.get(found)
      if (!repository) throw new Error('facts are asked for of what was found here')
      const topics = await topicsOf(catalogue, repository).catch((error: unknown) => {
        const away = asForgeUnreachable(error, now())
        if (!(away instanceof ForgeUnreachable)) throw away
        warn(away.message)
        return undefined
      })
      return { ...facts, ...repository.facts, ...(topics && { topics }) }
    },
  }
}

async function askFor(
  { db, catalogue, now }: ForgeSourceParts,
  name: RepositoryName,
): Promise<ForgeRepository | undefined> {
  const askedAt = now()
  const found = await catalogue.find(name, AbortSignal.timeout(ANSWER_MS))
  // One that was renamed may be found by its old name.
  const isSame = found !== undefined && keyOfName(found) === keyOfName(name)
  if (isSame) await upsertForgeRepositories(db, [found], askedAt)
  else await deleteForgeRepository(db, name)
  return isSame ? found : undefined
}

/** By an answer that is a minute old at most. */
async function freshlySaid(
  parts: ForgeSourceParts,
  name: RepositoryName,
): Promise<ForgeRepository | undefined> {
  const known = await findForgeRepository(parts.db, name)
  const isFresh = known && Math.abs(parts.now() - known.askedAt) < MINUTE_MS
  if (isFresh) return known.repository
  return askFor(parts, name).catch((error: unknown) => {
    throw asForgeUnreachable(error, parts.now())
  })
}

async function topicsOf(
  catalogue: ForgeCatalogue,
  repository: ForgeRepository,
): Promise<string[] | undefined> {
  if (repository.topicsAsOf === undefined) return undefined
  return catalogue.topics(repository, AbortSignal.timeout(ANSWER_MS))
}

const digestOf = (repository: ForgeRepository): string =>
  createHash('sha256').update(JSON.stringify(repository)).digest('base64url').slice(0, 16)

/** What was never asked about is neither there nor gone. */
function notKnown({ owner, name }: FoundRepository, isFresh: boolean): ListedEntry {
  const fullName = `${owner}/${name}`
  const refused = { path: `${fullName}.git`, hides: { fullName } }
  if (isFresh) return { refused: { ...refused, reason: UNKNOWN, isWithdrawn: true } }
  return { refused: { ...refused, reason: 'the forge has not told of this repository yet' } }
}

function ignoreAway(error: unknown): undefined {
  if (!(asForgeUnreachable(error, 0) instanceof ForgeUnreachable)) throw error
}

/**
 * Brings accounts in line with the organizations of the forge: those that own repositories there, and those that have an account
 * here, by their number or by their login. Returns the logins that are people's here.
 */
async function keepOrganizations(
  db: Db,
  organizations: readonly ForgeOrganization[],
  owners: ReadonlySet<string>,
  now: number,
): Promise<string[]> {
  const rows = await db.selectFrom('accounts').select(['login', 'type', 'forge_id']).execute()
  const byId = new Map(rows.map((row) => [row.forge_id, row]))
  const logins = new Set(rows.map(({ login }) => keyOf(login)))
  const refused: string[] = []
  for (const each of organizations.filter(({ login }) => isName(login))) {
    const { id, login } = each
    const known = byId.get(id)
    const key = keyOf(login)
    if (known?.type === 'Organization' && keyOf(known.login) === key) continue
    if (!known && !logins.has(key) && !owners.has(key)) continue
    const account = await db
      .transaction()
      .execute((tx) => accountOfForgeOrganization(tx, { ...each, createdAt: now }))
    if (!account) refused.push(login)
  }
  return refused
}

interface Listing {
  repositories: Map<string, ForgeRepository>
  /** Whether the forge has told it now. */
  isFresh: boolean
}

async function listAll({ db, catalogue, now, warn }: ForgeSourceParts): Promise<Listing> {
  const askedAt = now()
  try {
    const signal = AbortSignal.timeout(LISTING_MS)
    const all = await Array.fromAsync(catalogue.all(signal))
    await replaceForgeRepositories(db, all, askedAt)
    const owners = new Set(all.map(({ owner }) => keyOf(owner)))
    const organizations = await catalogue.organizations(signal)
    for (const login of await keepOrganizations(db, organizations, owners, askedAt))
      warn(`${login} is an organization there, and a user with tokens here`)
    return { repositories: new Map(all.map((each) => [keyOfName(each), each])), isFresh: true }
  } catch (error) {
    const away = asForgeUnreachable(error, now())
    if (!(away instanceof ForgeUnreachable)) throw away
    warn(`what the forge said last of repositories is used: ${away.message}`)
    return { repositories: await listForgeRepositories(db), isFresh: false }
  }
}
