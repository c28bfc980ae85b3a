import { nameKey, type Reader } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import { parseFullName } from '../lib/names.ts'
import { mapInTurns } from '../lib/turns.ts'
import {
  factsOfUnreadable,
  mayRead,
  permissionsOf,
  type RepositoryFacts,
  type Role,
} from './facts.ts'
import {
  type CatalogueEntry,
  countForks,
  findByNameAsMap,
  keyOfEntry,
  rolesOf,
} from './repository-store.ts'

/** Returns the entries as the viewer sees them, with their templates, in the same order. */
export async function factsForViewer(
  db: Db,
  viewer: Reader,
  entries: readonly CatalogueEntry[],
): Promise<RepositoryFacts[]> {
  const names = new Set(entries.map(({ facts }) => facts.templateRepository ?? ''))
  const templates = await findByNameAsMap(
    db,
    [...names].flatMap((fullName) => parseFullName(fullName) ?? []),
  )
  const all = [...entries, ...templates.values()]
  const roles = await rolesOf(db, viewer, all)
  const forks = await countForks(db, viewer, all)

  const viewOf = (entry: CatalogueEntry, template: RepositoryFacts | null): RepositoryFacts =>
    factsOf(entry, {
      role: roles.get(entry.id) ?? 'none',
      forksCount: forks.get(keyOfEntry(entry)) ?? 0,
      template,
    })

  return mapInTurns(entries, (entry) => {
    const template = templates.get(nameKey(entry.facts.templateRepository ?? ''))
    const visible = template && mayRead(roles.get(template.id) ?? 'none', template.facts)
    return viewOf(entry, visible ? { ...viewOf(template, null), collaborators: [] } : null)
  })
}

/** Returns the facts of a repository that the viewer may no longer read: only its name, owner and creation time. */
export function withheldFacts({ id, name, owner, createdAt }: RepositoryFacts): RepositoryFacts {
  const facts = factsOfUnreadable(createdAt)
  const entry = { id, name, owner, stamp: '', facts, problem: null }
  return factsOf(entry, { role: 'none', forksCount: 0, template: null })
}

function factsOf(
  { id, name, owner, facts }: CatalogueEntry,
  view: { role: Role; forksCount: number; template: RepositoryFacts | null },
): RepositoryFacts {
  const { headCommit, templateRepository, forkOf, ownerIsOrganization, ...shown } = facts
  return {
    id,
    name,
    owner,
    ...shown,
    fork: forkOf !== null,
    forksCount: view.forksCount,
    permissions: permissionsOf(view.role, facts),
    template: view.template,
  }
}
