import type { Group } from '../discussions.ts'
import { segment } from './forge-address.ts'
import { NotThere } from './forge-errors.ts'
import { type Entry, listAll } from './forge-pages.ts'
import { textIn } from './forge-values.ts'
import type { KnownForge } from './known-forge.ts'
import { idOf, organizationFact, People, teamFact } from './people-facts.ts'
import { groupOf } from './read-sides.ts'

/** An organization with members and teams, or a person; everyone in it has a record of their own. */
export async function readOwner(
  forge: KnownForge,
  login: string,
  signal: AbortSignal,
): Promise<Group> {
  const { client, pageSize } = forge
  const list = (path: string) => listAll(client, { path, limit: pageSize }, signal)
  const path = `/orgs/${segment(login)}`
  const organization = await client.get(path, {}, signal).catch((error: unknown) => {
    if (error instanceof NotThere) return undefined
    throw error
  })
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
  const answers = { organization: { ...(organization.body as Entry), created }, members, teams }
  const fact = organizationFact(answers)
  return groupOf(`owner/${login}`, {
    users: people.take(),
    organizations: [fact],
    teams: teams
      .filter(({ team }) => textIn(team, 'name') !== '')
      .map((each) => teamFact(fact.login, each.team, each.members)),
  })
}
