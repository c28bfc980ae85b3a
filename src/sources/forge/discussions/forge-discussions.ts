import type { Discussions, Group, Kept } from '../../discussions.ts'
import { ForgeNotFound } from '../../forge-errors.ts'
import type { RepositoryName } from '../../source.ts'
import { confirmAbsence, unavailable } from '../client/confirm-absence.ts'
import { segment } from '../client/forge-address.ts'
import { type ForgeOptions, forgeClient } from '../client/forge-client.ts'
import { type Entry, listAll } from '../client/forge-pages.ts'
import { textIn } from '../client/forge-values.ts'
import { forgeGetter, type KnownForge } from '../client/known-forge.ts'
import { openFile } from '../client/open-file.ts'
import { idOf, organizationFact, People, teamFact } from '../facts/people-facts.ts'
import { cursorOf } from './cursor.ts'
import { type ChangesFound, detectChanges, isUnchanged, stampOfChanges } from './find-changes.ts'
import { findOrganization, Notes, type ReadContext } from './read-context.ts'
import { RepositoryReading } from './read-repository.ts'
import { groupOf } from './read-sides.ts'

/** A look that a reading right after it may use: it need not ask the same again. */
interface TakenLook {
  look: ChangesFound
  context: ReadContext
  cursor: string | null
  until: number
}

const LOOK_MS = 60_000

/** Discussions of a Gitea or a Forgejo over REST. */
export function forgeDiscussions(options: ForgeOptions): Discussions & { requests(): number } {
  const client = forgeClient(options)
  const now = options.now ?? Date.now
  const getForge = forgeGetter(client, now)
  const looks = new Map<string, TakenLook>()
  const nameOf = ({ owner, name }: RepositoryName) => `${owner}/${name}`

  async function look(repository: RepositoryName, kept: Kept, signal: AbortSignal) {
    const forge = await getForge(signal)
    // What was said of an earlier reading still holds for what was kept of it.
    const notes = new Notes(cursorOf(kept.cursor)?.notes)
    if (!forge.can.timeline) notes.noTimeline(forge.version)
    const context = { forge, ...pickName(repository), notes, people: new People(), signal }
    return { look: await detectChanges(context, kept), context }
  }

  return {
    async stamp(repository, kept, signal) {
      const taken = await confirmAbsence(client, () => look(repository, kept, signal), signal)
      for (const [name, { until }] of looks) if (until < now()) looks.delete(name)
      const { cursor } = kept
      looks.set(nameOf(repository), { ...taken, cursor, until: now() + LOOK_MS })
      const last = cursorOf(cursor)
      const isSaid = taken.context.notes.areAs(last?.notes ?? [])
      return isUnchanged(taken.look) && isSaid ? (last?.stamp ?? '') : stampOfChanges(taken.look)
    },

    async *read(repository, kept, signal) {
      const taken = looks.get(nameOf(repository))
      looks.delete(nameOf(repository))
      const isUsable = taken && taken.cursor === kept.cursor && taken.until >= now()
      const ask = () => look(repository, kept, signal)
      const current = isUsable ? taken : await confirmAbsence(client, ask, signal)
      const context = { ...current.context, signal }
      try {
        yield* new RepositoryReading(context, kept, current.look).batches()
      } catch (error) {
        // A moment ago it was there: the next look tells whether it is gone.
        throw error instanceof ForgeNotFound ? unavailable(error) : error
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

const pickName = ({ owner, name }: RepositoryName): RepositoryName => ({ owner, name })

/** An organization with members and teams, or a person; everyone in it has a record of their own. */
async function readOwner(forge: KnownForge, login: string, signal: AbortSignal): Promise<Group> {
  const { client, pageSize } = forge
  const notes = new Notes()
  const list = (path: string) => {
    const onMissing = (count: number) => notes.missing(path.slice(1), count, undefined)
    return listAll(client, { path, limit: pageSize, onMissing }, signal)
  }
  const path = `/orgs/${segment(login)}`
  const organization = await findOrganization(forge, login, signal)
  const people = new People()
  // An organization is asked for here too: only so is it said since when there is one.
  const { body } = await client.get(`/users/${segment(login)}`, {}, signal)
  if (!organization) {
    people.meet(body)
    return groupOf(`owner/${login}`, { users: people.take() })
  }
  const members = await list(`${path}/members`)
  const teams = []
  for (const team of await list(`${path}/teams`))
    teams.push({ team, members: await list(`/teams/${idOf(team)}/members`) })
  people.meet([members, teams.map((each) => each.members)])
  const { created } = (body ?? {}) as Entry
  const answers = { organization: { ...organization, created }, members, teams }
  const fact = organizationFact(answers)
  const group = groupOf(`owner/${login}`, {
    users: people.take(),
    organizations: [fact],
    teams: teams
      .filter(({ team }) => textIn(team, 'name') !== '')
      .map((each) => teamFact(fact.login, each.team, each.members)),
  })
  return { ...group, notes: notes.all() }
}
