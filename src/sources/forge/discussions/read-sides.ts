import { createHash } from 'node:crypto'
import type { Facts, FileToFetch, Group } from '../../discussions.ts'
import { ForgeRefused } from '../../forge-errors.ts'
import { segment } from '../client/forge-address.ts'
import { type Entry, listAll } from '../client/forge-pages.ts'
import { loginOf, textIn } from '../client/forge-values.ts'
import { releaseFact } from '../facts/file-facts.ts'
import { teamAccess } from '../facts/people-facts.ts'
import { milestoneFact, protectedBranchFact, repositoryFact } from '../facts/repository-facts.ts'
import {
  findOrganization,
  getPart,
  ifExists,
  listingOf,
  listPart,
  listWholePart,
  type ReadContext,
  unlessTurnedOff,
} from './read-context.ts'

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
  const milestones = await listed(context, repository, 'milestones', { state: 'all' })
  const releases = await listed(context, repository, 'releases')
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
      notes.skipped('assets of releases that are links to elsewhere'),
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
  const isOrganization =
    (await findOrganization(context.forge, owner, context.signal)) !== undefined
  const labels = await listed(context, repository, 'labels')
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

async function organizationLabels(context: ReadContext): Promise<Entry[]> {
  const { forge, owner, signal } = context
  const listing = {
    ...listingOf(context, 'labels of the organization'),
    path: `/orgs/${segment(owner)}/labels`,
    limit: forge.pageSize,
  }
  return (await ifExists(context, () => listAll(forge.client, listing, signal))) ?? []
}

/** Old versions tell them at an address of their own. */
async function readTopics(context: ReadContext): Promise<unknown> {
  const query = { limit: context.forge.pageSize }
  const answer = await ifExists(context, () => getPart(context, 'topics', query))
  return ((answer?.body ?? {}) as Entry).topics
}

const readTeams = async (context: ReadContext): Promise<Entry[]> =>
  wholeIfAllowed(context, 'teams', 'what teams may do with the repository')

/** A part of a repository may be turned off: what it holds is still there, but nobody is shown it. Undefined then. */
async function listed(
  context: ReadContext,
  repository: Entry,
  what: 'labels' | 'milestones' | 'releases',
  query: Record<string, string> = {},
): Promise<Entry[] | undefined> {
  return unlessTurnedOff(context, repository, what, () => listPart(context, what, { query }))
}

/** What only administrators of a repository may read. */
const wholeIfAllowed = (context: ReadContext, what: string, words: string): Promise<Entry[]> =>
  ifAllowed(context, words, () => listWholePart(context, what))

/** Lists as `list` does. What the forge refuses, or does not have, is noted and is an empty list. */
async function ifAllowed(
  context: ReadContext,
  words: string,
  list: () => Promise<Entry[]>,
): Promise<Entry[]> {
  const found = await ifExists(context, list).catch(ignoreForbidden)
  if (!found) context.notes.say(`the forge does not give ${words}`)
  return found ?? []
}

function ignoreForbidden(error: unknown): undefined {
  if (!(error instanceof ForgeRefused) || error.status !== 403) throw error
}

async function readCollaborators(context: ReadContext, kept: Group | undefined) {
  const users = await ifAllowed(context, 'collaborators', () => listPart(context, 'collaborators'))
  context.people.meet(users)
  const known = new Map(
    kept?.facts.repositories?.[0]?.collaborators.map((each) => [each.login, each.permission]),
  )
  const found: { login: string; permission: string }[] = []
  for (const [n, user] of users.entries()) {
    const login = loginOf(user)
    const before = n < PERMISSIONS_AT_ONCE ? undefined : known.get(login)
    found.push({
      login,
      permission: before ?? (await permissionOf(context, login)),
    })
  }
  return found
}

/** Where a version cannot be asked, it is what Gitea gives a new collaborator. */
async function permissionOf(context: ReadContext, login: string): Promise<string> {
  const part = `collaborators/${segment(login)}/permission`
  const answer = context.forge.can.permissions
    ? await ifExists(context, () => getPart(context, part)).catch(ignoreForbidden)
    : undefined
  if (!answer) {
    context.notes.say('the forge does not tell permissions of collaborators: `write` is assumed')
    return 'write'
  }
  const permission = textIn((answer.body ?? {}) as Entry, 'permission')
  if (permission === 'owner') return 'admin'
  return permission === 'none' ? 'read' : permission || 'write'
}
