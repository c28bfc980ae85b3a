import { counted, type Given } from './answers.ts'
import type { Asked } from './asked.ts'
import type { Repository, User, World } from './world.ts'

const MODES = ['none', 'read', 'write', 'admin', 'owner']

/** What Gitea makes of all the ways in which somebody may come to a repository. */
function modeOf(world: World, { owner, collaborators, isPrivate }: Repository, user: User): number {
  const teams = world.teams.get(owner.login.toLowerCase()) ?? []
  const said = [
    ...teams.filter(({ members }) => members.has(user)).map(({ permission }) => permission),
    collaborators.get(user) ?? 'none',
    owner === user || user.isAdmin ? 'owner' : 'none',
    isPrivate ? 'none' : 'read',
  ]
  return Math.max(...said.map((mode) => MODES.indexOf(mode)))
}

const isInvolved = (world: World, { owner, collaborators }: Repository, user: User): boolean =>
  owner === user ||
  collaborators.has(user) ||
  (world.teams.get(owner.login.toLowerCase()) ?? []).some(({ members }) => members.has(user))

/** `/user/repos`: one's own, and those that one was given access to. */
export function ownRepositories({ world, render, url, viewer }: Asked): Given {
  const all = [...world.repositories.values()].filter((each) => isInvolved(world, each, viewer))
  return counted(all, url.searchParams, (each) => {
    const mode = modeOf(world, each, viewer)
    const permissions = { admin: mode >= 3, push: mode >= 2, pull: mode >= 1 }
    return { ...render.repository(each), permissions }
  })
}

/** `/user/teams`, each with its organization. */
export function ownTeams({ world, render, url, viewer }: Asked): Given {
  const all = [...world.teams].flatMap(([login, teams]) =>
    teams.filter(({ members }) => members.has(viewer)).map((team) => ({ login, team })),
  )
  return counted(all, url.searchParams, ({ login, team }) => ({
    ...render.team(team),
    organization: render.organization(world.users.get(login)!),
  }))
}

/** `/repos/search`: all that one may see, in the order of their numbers. */
export function searchRepositories({ world, render, url, viewer }: Asked): Given {
  const all = [...world.repositories.values()]
    .filter((each) => modeOf(world, each, viewer) > 0)
    .sort((a, b) => a.id - b.id)
  const given = counted(all, url.searchParams, (each) => render.repository(each))
  return { ...given, body: { ok: true, data: given.body } }
}
