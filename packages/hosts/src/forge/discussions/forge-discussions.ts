import type { Discussions, Group } from '../../discussions.ts'
import { HostNotFound } from '../../host-errors.ts'
import { segment } from '../../host-url.ts'
import {
  confirmAbsence,
  unconfirmedAbsence,
  undefinedIfRefused,
} from '../../http/confirm-absence.ts'
import type { ApiClient, Query } from '../../http/http-client.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { openFile } from '../../http/open-file.ts'
import { listAll } from '../../http/pages.ts'
import { ForgeClient, type ForgeOptions } from '../client/forge-client.ts'
import type { KnownHost } from '../client/known-forge.ts'
import { knownForgeCache, shareAnswers } from '../client/known-forge.ts'
import { organizationRecord, People, slugOf, teamRecord } from '../records/people-records.ts'
import { changeTokenOfChanges, cursorOf, findChanges, isUnchanged } from './find-changes.ts'
import { findOrganization, Notes, type OwnerContext } from './read-context.ts'
import { groupOf } from './read-metadata.ts'
import { RepositoryReading } from './read-repository.ts'

/** Implements Discussions for Gitea and Forgejo over REST. */
export function forgeDiscussions(
  options: ForgeOptions,
  client = new ForgeClient(options),
  getForge = knownForgeCache(client, options.now),
): Discussions {
  return restDiscussions(client, getForge, options.now)
}

interface Access {
  client: ApiClient
  getHost(signal: AbortSignal): Promise<KnownHost>
  shareAnswer: ReturnType<typeof shareAnswers>
}

/** Implements Discussions for any host whose client responds in Gitea's form. */
export function restDiscussions(
  client: ApiClient,
  getHost: Access['getHost'],
  now = Date.now,
): Discussions {
  // No answers are shared until `sharing` is called: every call sends its own requests.
  return readingSince(Infinity, { client, getHost, shareAnswer: shareAnswers(now) })
}

function readingSince(since: number, access: Access): Discussions {
  const { client, getHost, shareAnswer } = access
  const share = <T>(key: string, load: () => Promise<T>) => shareAnswer(key, since, load)

  return {
    sharing: (since) => readingSince(since, access),

    async findChanges({ owner, name }, stored, signal) {
      const last = cursorOf(stored.cursor)
      const request = async () => {
        const forge = await getHost(signal)
        // Earlier notes are still true for the records that were stored then.
        const notes = new Notes(last?.notes)
        if (!forge.can.timeline) notes.addNoTimeline(forge.version)
        const fullName = `${owner}/${name}`
        const context = { forge, owner, name, fullName, notes, people: new People(), signal, share }
        return { changes: await findChanges(context, stored), context }
      }
      const { changes, context } = await confirmAbsence(client, request, signal)
      const isSame = isUnchanged(changes) && context.notes.equals(last?.notes ?? [])
      return {
        changeToken: isSame ? (last?.changeToken ?? '') : changeTokenOfChanges(changes),
        async *batches() {
          try {
            yield* new RepositoryReading(context, stored, changes).batches()
          } catch (error) {
            // The repository existed a moment ago. The next call finds out whether it was deleted.
            throw error instanceof HostNotFound ? unconfirmedAbsence(error) : error
          }
        },
      }
    },

    async owner(owner, signal, viewer): Promise<Group> {
      const context = { forge: await getHost(signal), owner, signal, share }
      const request = () => readOwner(context, viewer)
      const key = `owner ${owner} ${viewer ?? ''}`
      return share(key, () => confirmAbsence(client, request, signal))
    },

    open: (file, signal) => openFile(client, file, signal),
  }
}

/** Reads an organization with its members and teams, or a person. */
async function readOwner(context: OwnerContext, viewer: string | undefined): Promise<Group> {
  const { forge, owner, signal } = context
  const { client } = forge
  const notes = new Notes()
  const organization = await findOrganization(context)
  const people = new People()
  const takeUsers = () => people.takeNew().map(({ user }) => user)
  // Also requested for an organization, because only this endpoint returns its creation time.
  const { body } = await client.get(`/users/${segment(owner)}`, {}, signal)
  if (!organization) {
    people.collect(body)
    return groupOf(`owner/${owner}`, { users: takeUsers() })
  }
  const { profile, members, teams } = await readOrganization(context, organization, notes, viewer)
  people.collect([members, teams.map((each) => each.members)])
  const { created } = json.objectOf(body)
  const record = organizationRecord({ ...profile, created }, members, teams)
  const records = {
    users: takeUsers(),
    organizations: [record],
    teams: teams
      .filter(({ team }) => json.string(team, 'name') !== '')
      .map((each) => teamRecord(record.login, each.team, each.members)),
  }
  const unlisted = teams.filter(({ isListed }) => !isListed)
  const unlistedTeams = unlisted.map(({ team }) => slugOf(json.string(team, 'name')))
  const group = groupOf(`owner/${owner}`, records, unlisted.length > 0 ? { unlistedTeams } : {})
  return { ...group, notes: notes.all() }
}

/**
 * Reads the parts of an organization that not everyone sees. With a viewer, the forge decides what is left out: requests are sent on
 * behalf of that person (`sudo`).
 */
async function readOrganization(
  { forge, owner, signal }: OwnerContext,
  organization: Json,
  notes: Notes,
  viewer: string | undefined,
) {
  const { client, paging } = forge
  const path = `/orgs/${segment(owner)}`
  const list = (path: string, query: Query) => {
    const onMissing = (count: number) => notes.addMissing(path.slice(1), count, undefined)
    return listAll(client, { path, query, ...paging, onMissing }, signal)
  }
  const query: Query = viewer === undefined ? {} : { sudo: viewer }
  /** Returns undefined if the forge hides it from the viewer. */
  const ifShown = <T>(request: () => Promise<T>): Promise<T | undefined> =>
    viewer === undefined
      ? request()
      : confirmAbsence(client, request, signal).catch(undefinedIfRefused)
  const all = await list(`${path}/teams`, {})
  const isShown =
    viewer === undefined || (await ifShown(() => client.get(path, query, signal))) !== undefined
  const listed = viewer === undefined ? all : await ifShown(() => list(`${path}/teams`, query))
  const ids = new Set(listed?.map((team) => json.integer(team, 'id')))
  const teams = []
  for (const team of all) {
    const id = json.integer(team, 'id')
    const isListed = ids.has(id)
    const request = () => list(`/teams/${id}/members`, query)
    teams.push({ team, isListed, members: (isListed && (await ifShown(request))) || [] })
  }
  return {
    profile: isShown ? organization : { username: json.organizationLogin(organization) },
    members: (await ifShown(() => list(`${path}/members`, query))) ?? [],
    teams,
  }
}
