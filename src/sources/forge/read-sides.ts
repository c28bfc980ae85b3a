import { createHash } from 'node:crypto'
import type { Facts, FileToFetch, Group } from '../discussions.ts'
import { releaseFact } from './file-facts.ts'
import { segment } from './forge-address.ts'
import { ForgeRefused, NotThere } from './forge-errors.ts'
import { type Entry, listAll, listWhole } from './forge-pages.ts'
import { loginOf, textIn } from './forge-values.ts'
import { teamAccess } from './people-facts.ts'
import { type ReadContext, repositoryPath } from './read-context.ts'
import { milestoneFact, protectedBranchFact, repositoryFact } from './repository-facts.ts'

/** Permissions are asked for one by one: of this many at every look, of others when they are new. */
const PERMISSIONS_AT_ONCE = 15

/**
 * What stands beside the issues of a repository, in groups that are small enough to be read at every look. `find` gives those
 * that were kept: they stay where the forge has turned off what is in them.
 */
export async function readSides(
  context: ReadContext,
  repository: Entry,
  find: (key: string) => Promise<Group | undefined>,
): Promise<Group[]> {
  const full = `${context.owner}/${context.name}`
  const milestones = await listed(context, 'milestones', { state: 'all' })
  const releases = await listed(context, 'releases')
  const rules = await wholeIfAllowed(context, 'branch_protections', 'protected branches')
  return [
    await repositoryGroup(context, repository, await find('repository')),
    milestones
      ? groupOf('milestones', { milestones: milestones.map((each) => milestoneFact(full, each)) })
      : ((await find('milestones')) ?? groupOf('milestones', { milestones: [] })),
    releases
      ? releasesGroup(context, releases)
      : ((await find('releases')) ?? releasesGroup(context, [])),
    groupOf('protected_branches', {
      protected_branches: rules.map((rule) => protectedBranchFact(full, rule)),
    }),
  ]
}

function releasesGroup({ people, notes, owner, name }: ReadContext, listed: Entry[]): Group {
  const releases = listed.map((release) => {
    people.meet(release.author)
    return releaseFact(`${owner}/${name}`, release, () =>
      notes.leave('assets of releases that are links to elsewhere'),
    )
  })
  return groupOf(
    'releases',
    { releases: releases.map(({ fact }) => fact) },
    { files: releases.flatMap(({ files }) => files) },
  )
}

export function groupOf(
  key: string,
  facts: Facts,
  more: { files?: FileToFetch[]; teams?: NonNullable<Group['teams']> } = {},
): Group {
  const group = { key, facts, files: [], ...more }
  const version = createHash('sha256').update(JSON.stringify(group)).digest('hex').slice(0, 32)
  return { ...group, version }
}

async function repositoryGroup(
  context: ReadContext,
  repository: Entry,
  kept: Group | undefined,
): Promise<Group> {
  const { owner, name } = context
  const isOrganization = await ownsLabels(context)
  const labels = await listed(context, 'labels')
  const ofOwner = isOrganization ? await organizationLabels(context) : []
  const collaborators = await readCollaborators(context, kept)
  const teams = isOrganization ? await readTeams(context) : []
  const topics = 'topics' in repository ? repository.topics : await readTopics(context)
  const answers = {
    ...{ repository: { ...repository, topics }, owner, name, collaborators },
    labels: [...(labels ?? []), ...ofOwner],
  }
  const fact = repositoryFact(answers)
  const before = labels ? undefined : kept?.facts.repositories?.[0]
  return groupOf(
    'repository',
    { repositories: [before ? { ...fact, labels: before.labels } : fact] },
    { teams: teamAccess(teams) },
  )
}

/** Only an organization has labels of its own and teams. */
async function ownsLabels({ forge, owner, signal }: ReadContext): Promise<boolean> {
  try {
    await forge.client.get(`/orgs/${segment(owner)}`, {}, signal)
    return true
  } catch (error) {
    if (error instanceof NotThere) return false
    throw error
  }
}

function organizationLabels({ forge, owner, signal }: ReadContext): Promise<Entry[]> {
  const listing = { path: `/orgs/${segment(owner)}/labels`, limit: forge.pageSize }
  return listAll(forge.client, listing, signal).catch(emptyIfNotThere)
}

/** Old versions tell them at an address of their own. */
async function readTopics({ forge, signal, ...context }: ReadContext): Promise<unknown> {
  const path = `${repositoryPath(context)}/topics`
  try {
    const { body } = await forge.client.get(path, { limit: forge.pageSize }, signal)
    return ((body ?? {}) as Entry).topics
  } catch (error) {
    if (error instanceof NotThere) return undefined
    throw error
  }
}

const readTeams = async (context: ReadContext): Promise<Entry[]> =>
  wholeIfAllowed(context, 'teams', 'what teams may do with the repository')

/** A part of a repository may be turned off: what it holds is still there, but nobody is shown it. Undefined then. */
async function listed(
  context: ReadContext,
  what: 'labels' | 'milestones' | 'releases',
  query: Record<string, string> = {},
): Promise<Entry[] | undefined> {
  const { forge, signal, notes } = context
  const listing = { path: `${repositoryPath(context)}/${what}`, limit: forge.pageSize, query }
  try {
    return await listAll(forge.client, listing, signal)
  } catch (error) {
    if (!(error instanceof NotThere)) throw error
    notes.turnedOff(what)
    return undefined
  }
}

function emptyIfNotThere(error: unknown): Entry[] {
  if (error instanceof NotThere) return []
  throw error
}

/** What only administrators of a repository may read. */
async function wholeIfAllowed(context: ReadContext, what: string, words: string): Promise<Entry[]> {
  const { forge, signal, notes } = context
  try {
    return await listWhole(forge.client, `${repositoryPath(context)}/${what}`, signal)
  } catch (error) {
    if (error instanceof NotThere || (error instanceof ForgeRefused && error.status === 403)) {
      notes.say(`the forge does not give ${words}`)
      return []
    }
    throw error
  }
}

async function readCollaborators(context: ReadContext, kept: Group | undefined) {
  const { forge, signal, people, notes } = context
  const path = `${repositoryPath(context)}/collaborators`
  const listing = { path, limit: forge.pageSize }
  const users = await listAll(forge.client, listing, signal).catch((error: unknown) => {
    if (!(error instanceof ForgeRefused && error.status === 403)) return emptyIfNotThere(error)
    notes.say('the forge does not give collaborators')
    return []
  })
  people.meet(users)
  const known = new Map(
    kept?.facts.repositories?.[0]?.collaborators.map((each) => [each.login, each.permission]),
  )
  const found: { login: string; permission: string }[] = []
  for (const [n, user] of users.entries()) {
    const login = loginOf(user)
    const before = n < PERMISSIONS_AT_ONCE ? undefined : known.get(login)
    found.push({
      login,
      permission: before ?? (await permissionOf(context, `${path}/${segment(login)}`)),
    })
  }
  return found
}

/** Where a version cannot be asked, it is what Gitea gives a new collaborator. */
async function permissionOf({ forge, signal, notes }: ReadContext, path: string): Promise<string> {
  try {
    const { body } = await forge.client.get(`${path}/permission`, {}, signal)
    const permission = textIn((body ?? {}) as Entry, 'permission')
    if (permission === 'owner') return 'admin'
    return permission === 'none' ? 'read' : permission || 'write'
  } catch (error) {
    const isForbidden = error instanceof ForgeRefused && error.status === 403
    if (!(error instanceof NotThere) && !isForbidden) throw error
    notes.say('the forge does not tell permissions of collaborators: `write` is assumed')
    return 'write'
  }
}
