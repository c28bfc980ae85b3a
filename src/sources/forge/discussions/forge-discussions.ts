import type { Discussions, Group } from '../../discussions.ts'
import { ForgeNotFound } from '../../forge-errors.ts'
import { confirmAbsence, unconfirmedAbsence } from '../client/confirm-absence.ts'
import { segment } from '../client/forge-address.ts'
import { ForgeClient, type ForgeOptions } from '../client/forge-client.ts'
import { listAll } from '../client/forge-pages.ts'
import * as json from '../client/forge-values.ts'
import { knownForgeCache, shareAnswers } from '../client/known-forge.ts'
import { openFile } from '../client/open-file.ts'
import { organizationFact, People, teamFact } from '../facts/people-facts.ts'
import { cursorOf, findChanges, isUnchanged, stampOfChanges } from './find-changes.ts'
import { findOrganization, Notes, type OwnerContext } from './read-context.ts'
import { groupOf } from './read-metadata.ts'
import { RepositoryReading } from './read-repository.ts'

/** What all readers of a forge share. With the default of `since`, no answers are shared: every call sends its own requests. */
function openAccess(options: ForgeOptions, client = new ForgeClient(options)) {
  const now = options.now ?? Date.now
  const getForge = knownForgeCache(client, now)
  return { client, getForge, shareAnswer: shareAnswers(now), since: Infinity }
}

/** Implements Discussions for Gitea and Forgejo over REST. */
export function forgeDiscussions(
  options: ForgeOptions,
  shared: Partial<ReturnType<typeof openAccess>> = {},
): Discussions {
  const access = { ...openAccess(options, shared.client), ...shared }
  const { client, getForge, shareAnswer, since } = access
  const share = <T>(key: string, load: () => Promise<T>) => shareAnswer(key, since, load)

  return {
    sharing: (since) => forgeDiscussions(options, { ...access, since }),

    async findChanges({ owner, name }, stored, signal) {
      const last = cursorOf(stored.cursor)
      const request = async () => {
        const forge = await getForge(signal)
        // Earlier notes are still true for the facts that were stored then.
        const notes = new Notes(last?.notes)
        if (!forge.can.timeline) notes.addNoTimeline(forge.version)
        const fullName = `${owner}/${name}`
        const context = { forge, owner, name, fullName, notes, people: new People(), signal, share }
        return { changes: await findChanges(context, stored), context }
      }
      const { changes, context } = await confirmAbsence(client, request, signal)
      const isSame = isUnchanged(changes) && context.notes.equals(last?.notes ?? [])
      return {
        stamp: isSame ? (last?.stamp ?? '') : stampOfChanges(changes),
        async *batches() {
          try {
            yield* new RepositoryReading(context, stored, changes).batches()
          } catch (error) {
            // The repository existed a moment ago. The next call finds out whether it was deleted.
            throw error instanceof ForgeNotFound ? unconfirmedAbsence(error) : error
          }
        },
      }
    },

    async owner(owner, signal): Promise<Group> {
      const context = { forge: await getForge(signal), owner, signal, share }
      const request = () => readOwner(context)
      return share(`owner ${owner}`, () => confirmAbsence(client, request, signal))
    },

    open: (file, signal) => openFile(client, file, signal),
  }
}

/** Reads an organization with its members and teams, or a person. */
async function readOwner(context: OwnerContext): Promise<Group> {
  const { forge, owner, signal } = context
  const { client, paging } = forge
  const notes = new Notes()
  const list = (path: string) => {
    const onMissing = (count: number) => notes.addMissing(path.slice(1), count, undefined)
    return listAll(client, { path, ...paging, onMissing }, signal)
  }
  const path = `/orgs/${segment(owner)}`
  const organization = await findOrganization(context)
  const people = new People()
  const takeUsers = () => people.takeNew().map(({ user }) => user)
  // Also requested for an organization, because only this endpoint returns its creation time.
  const { body } = await client.get(`/users/${segment(owner)}`, {}, signal)
  if (!organization) {
    people.collect(body)
    return groupOf(`owner/${owner}`, { users: takeUsers() })
  }
  const members = await list(`${path}/members`)
  const teams = []
  for (const team of await list(`${path}/teams`))
    teams.push({ team, members: await list(`/teams/${json.integer(team, 'id')}/members`) })
  people.collect([members, teams.map((each) => each.members)])
  const { created } = json.objectOf(body)
  const fact = organizationFact({ ...organization, created }, members, teams)
  const group = groupOf(`owner/${owner}`, {
    users: takeUsers(),
    organizations: [fact],
    teams: teams
      .filter(({ team }) => json.string(team, 'name') !== '')
      .map((each) => teamFact(fact.login, each.team, each.members)),
  })
  return { ...group, notes: notes.all() }
}
