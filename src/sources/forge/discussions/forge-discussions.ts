import type { Discussions, Group, StoredGroups } from '../../discussions.ts'
import { ForgeNotFound } from '../../forge-errors.ts'
import type { RepositoryName } from '../../source.ts'
import { confirmAbsence, unconfirmedAbsence } from '../client/confirm-absence.ts'
import { segment } from '../client/forge-address.ts'
import { ForgeClient, type ForgeOptions } from '../client/forge-client.ts'
import { listAll } from '../client/forge-pages.ts'
import { integerIn, objectOf, stringIn } from '../client/forge-values.ts'
import { type KnownForge, knownForgeCache } from '../client/known-forge.ts'
import { openFile } from '../client/open-file.ts'
import { organizationFact, People, teamFact } from '../facts/people-facts.ts'
import { type Changes, cursorOf, findChanges, isUnchanged, stampOfChanges } from './find-changes.ts'
import { findOrganization, Notes, type ReadContext } from './read-context.ts'
import { groupOf } from './read-metadata.ts'
import { RepositoryReading } from './read-repository.ts'

/** Changes that `stamp` found. A `read` soon after it uses them instead of sending the same requests again. */
interface FoundChanges {
  changes: Changes
  context: ReadContext
  cursor: string | null
  until: number
}

const REUSE_CHANGES_MS = 60_000

/** Implements Discussions for Gitea and Forgejo over REST. */
export function forgeDiscussions(
  options: ForgeOptions,
  client = new ForgeClient(options),
): Discussions & { requests(): number } {
  const now = options.now ?? Date.now
  const getForge = knownForgeCache(client, now)
  const found = new Map<string, FoundChanges>()
  const nameOf = ({ owner, name }: RepositoryName) => `${owner}/${name}`

  async function find({ owner, name }: RepositoryName, stored: StoredGroups, signal: AbortSignal) {
    const forge = await getForge(signal)
    // Earlier notes are still true for the facts that were stored then.
    const notes = new Notes(cursorOf(stored.cursor)?.notes)
    if (!forge.can.timeline) notes.addNoTimeline(forge.version)
    const fullName = `${owner}/${name}`
    const context = { forge, owner, name, fullName, notes, people: new People(), signal }
    return { changes: await findChanges(context, stored), context }
  }

  return {
    async stamp(repository, stored, signal) {
      const request = () => find(repository, stored, signal)
      const current = await confirmAbsence(client, request, signal)
      for (const [name, { until }] of found) if (until < now()) found.delete(name)
      const { cursor } = stored
      found.set(nameOf(repository), { ...current, cursor, until: now() + REUSE_CHANGES_MS })
      const last = cursorOf(cursor)
      const areNotesEqual = current.context.notes.equals(last?.notes ?? [])
      return isUnchanged(current.changes) && areNotesEqual
        ? (last?.stamp ?? '')
        : stampOfChanges(current.changes)
    },

    async *read(repository, stored, signal) {
      const recent = found.get(nameOf(repository))
      found.delete(nameOf(repository))
      const isUsable = recent && recent.cursor === stored.cursor && recent.until >= now()
      const request = () => find(repository, stored, signal)
      const current = isUsable ? recent : await confirmAbsence(client, request, signal)
      const context = { ...current.context, signal }
      try {
        yield* new RepositoryReading(context, stored, current.changes).batches()
      } catch (error) {
        // The repository existed a moment ago. The next call finds out whether it was deleted.
        throw error instanceof ForgeNotFound ? unconfirmedAbsence(error) : error
      }
    },

    async owner(login, signal): Promise<Group> {
      const forge = await getForge(signal)
      return confirmAbsence(client, () => readOwner(forge, login, signal), signal)
    },

    open: (file, signal) => openFile(client, file, signal),
    requests: client.requests,
  }
}

/** Reads an organization with its members and teams, or a person. */
async function readOwner(forge: KnownForge, login: string, signal: AbortSignal): Promise<Group> {
  const { client, pageSize } = forge
  const notes = new Notes()
  const list = (path: string) => {
    const onMissing = (count: number) => notes.addMissing(path.slice(1), count, undefined)
    return listAll(client, { path, limit: pageSize, onMissing }, signal)
  }
  const path = `/orgs/${segment(login)}`
  const organization = await findOrganization(forge, login, signal)
  const people = new People()
  // Also requested for an organization, because only this endpoint returns its creation time.
  const { body } = await client.get(`/users/${segment(login)}`, {}, signal)
  if (!organization) {
    people.collect(body)
    return groupOf(`owner/${login}`, { users: people.takeNew() })
  }
  const members = await list(`${path}/members`)
  const teams = []
  for (const team of await list(`${path}/teams`))
    teams.push({ team, members: await list(`/teams/${integerIn(team, 'id')}/members`) })
  people.collect([members, teams.map((each) => each.members)])
  const { created } = objectOf(body)
  const fact = organizationFact({ organization: { ...organization, created }, members, teams })
  const group = groupOf(`owner/${login}`, {
    users: people.takeNew(),
    organizations: [fact],
    teams: teams
      .filter(({ team }) => stringIn(team, 'name') !== '')
      .map((each) => teamFact(fact.login, each.team, each.members)),
  })
  return { ...group, notes: notes.all() }
}
