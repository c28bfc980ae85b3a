import { hash } from 'node:crypto'
import { Losses } from '@godwit/lib/findings'
import type { Group, RecordsOfGroup } from '../../discussions.ts'
import { repositoryPath, segment } from '../../host-url.ts'
import { undefinedIfRefused } from '../../http/confirm-absence.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { listAll } from '../../http/pages.ts'
import { releaseRecord } from '../records/file-records.ts'
import { mayReadCode, type Person, teamAccess } from '../records/people-records.ts'
import {
  milestoneRecord,
  protectedBranchRecord,
  repositoryRecord,
} from '../records/repository-records.ts'
import {
  findOrganization,
  getPart,
  ifExists,
  listPart,
  listUnpagedPart,
  type ReadContext,
  unlessTurnedOff,
} from './read-context.ts'

/** The permission of each collaborator takes a request. Every read requests this many again. The others are requested only once. */
const MAX_PERMISSION_REQUESTS = 15

/**
 * Reads everything of a repository except issues, in groups that are small enough to be read every time. If milestones or releases
 * are turned off on the forge, the group that `findStored` returns is used.
 */
export async function readMetadata(
  context: ReadContext,
  repository: Json,
  findStored: (key: string) => Promise<Group | undefined>,
): Promise<Group[]> {
  const { fullName } = context
  const milestones = await listUnlessOff(context, repository, 'milestones', { state: 'all' })
  const releases = await listUnlessOff(context, repository, 'releases')
  const rules = await listIfAllowed(context, 'protected branches', () =>
    listUnpagedPart(context, 'branch_protections'),
  )
  return [
    await readRepositoryGroup(context, repository, await findStored('repository')),
    (!milestones && (await findStored('milestones'))) ||
      groupOf('milestones', {
        milestones: (milestones ?? []).map((each) => milestoneRecord(fullName, each)),
      }),
    (!releases && (await findStored('releases'))) || releasesGroup(context, releases ?? []),
    groupOf('protected_branches', {
      protected_branches: rules.map((rule) => protectedBranchRecord(fullName, rule)),
    }),
  ]
}

function releasesGroup({ people, fullName }: ReadContext, listed: Json[]): Group {
  const losses = new Losses()
  const releases = listed.map((release) => {
    people.collect(release.author)
    const onExternal = () =>
      losses.add('release_assets', 1, `${json.string(release, 'tag_name')}: a link to another host`)
    return releaseRecord(fullName, release, onExternal)
  })
  return groupOf(
    'releases',
    { releases: releases.map(({ record }) => record) },
    { files: releases.flatMap(({ files }) => files), losses: losses.all() },
  )
}

export function groupOf(
  key: string,
  records: RecordsOfGroup,
  more: Partial<Pick<Group, 'files' | 'teams' | 'unlistedTeams' | 'seen' | 'losses'>> = {},
): Group {
  const group = { key, records, files: [], ...more }
  const version = hash('sha256', JSON.stringify(group)).slice(0, 32)
  return { ...group, version }
}

/** The id detects that the login belongs to somebody else. */
export const personGroup = ({ id, user }: Person): Group =>
  groupOf(`user/${user.login}`, { users: [user] }, { seen: { id: String(id) } })

async function readRepositoryGroup(
  context: ReadContext,
  repository: Json,
  stored: Group | undefined,
): Promise<Group> {
  const { owner, name } = context
  const isOrganization = (await findOrganization(context)) !== undefined
  const labels = await listUnlessOff(context, repository, 'labels')
  const organizationLabels = isOrganization ? await readOrganizationLabels(context) : []
  const collaborators = await readCollaborators(context, stored)
  const teams = isOrganization
    ? await listIfAllowed(context, 'the permissions of teams', () =>
        listUnpagedPart(context, 'teams'),
      )
    : []
  const topics = 'topics' in repository ? repository.topics : await readTopics(context)
  const allLabels = [...(labels ?? []), ...organizationLabels]
  const known = { owner, name, collaborators }
  const record = repositoryRecord({ ...repository, topics }, allLabels, known)
  const losses = new Losses()
  for (const label of organizationLabels) {
    const example = `${json.string(label, 'name')}: becomes a label of the repository`
    losses.add('organization_labels', 1, example)
  }
  const lacking = teams
    .filter((team) => !mayReadCode(team))
    .map((team) => json.string(team, 'name'))
  losses.add('team_permissions', lacking.length, ...lacking)
  const before = labels ? undefined : stored?.records.repositories?.[0]
  return groupOf(
    'repository',
    { repositories: [before ? { ...record, labels: before.labels } : record] },
    { teams: teamAccess(teams), losses: losses.all() },
  )
}

async function readOrganizationLabels(context: ReadContext): Promise<Json[]> {
  const { forge, owner, signal, share, notes } = context
  const { labels, missing } = await share(`labels ${owner}`, async () => {
    let missing = 0
    const onMissing = (count: number) => {
      missing = count
    }
    const listing = { path: `/orgs/${segment(owner)}/labels`, ...forge.paging, onMissing }
    const list = () => listAll(forge.client, listing, signal)
    return { labels: (await ifExists(context, list)) ?? [], missing }
  })
  if (missing > 0) notes.addMissing('labels of the organization', missing, undefined)
  return labels
}

/** Old versions have a separate endpoint for topics. */
async function readTopics(context: ReadContext): Promise<unknown> {
  const query = { limit: context.forge.paging.limit }
  const response = await ifExists(context, () => getPart(context, 'topics', query))
  return json.objectOf(response?.body).topics
}

/** Returns undefined if the part is turned off. Its entries still exist, but the forge does not show them. */
async function listUnlessOff(
  context: ReadContext,
  repository: Json,
  part: 'labels' | 'milestones' | 'releases',
  query: Record<string, string> = {},
): Promise<Json[] | undefined> {
  return unlessTurnedOff(context, repository, part, () => listPart(context, part, { query }))
}

/** Returns an empty list and adds a note if the forge refuses to list or has no such endpoint. */
async function listIfAllowed(context: ReadContext, what: string, list: () => Promise<Json[]>) {
  const found = await ifExists(context, list).catch(undefinedIfRefused)
  if (!found) context.notes.add(`the forge does not return ${what}`)
  return found ?? []
}

async function readCollaborators(context: ReadContext, stored: Group | undefined) {
  const list = () => listPart(context, 'collaborators')
  const users = await listIfAllowed(context, 'collaborators', list)
  context.people.collect(users)
  const known = new Map(
    stored?.records.repositories?.[0]?.collaborators.map((each) => [each.login, each.permission]),
  )
  const found: { login: string; permission: string }[] = []
  for (const [index, user] of users.entries()) {
    const login = json.loginOf(user)
    const before = index < MAX_PERMISSION_REQUESTS ? undefined : known.get(login)
    found.push({ login, permission: before ?? (await readPermission(context, login)) })
  }
  return found
}

/** Versions without an endpoint for permissions return them with the repository, as the collaborator sees it. */
async function readPermission(context: ReadContext, login: string): Promise<string> {
  const { forge, signal } = context
  const part = `collaborators/${segment(login)}/permission`
  const request = () =>
    forge.can.permissions
      ? getPart(context, part)
      : forge.client.get(repositoryPath(context), { sudo: login }, signal)
  const response = await ifExists(context, request).catch(undefinedIfRefused)
  const { permission, permissions } = json.objectOf(response?.body)
  if (permission === 'owner') return 'admin'
  if (typeof permission === 'string') return permission === 'none' ? 'read' : permission
  const { admin, push } = Object(permissions) as Json
  if (!permissions)
    context.notes.add(
      'the forge does not return the permissions of collaborators: `read` is assumed',
    )
  return admin === true ? 'admin' : push === true ? 'write' : 'read'
}
