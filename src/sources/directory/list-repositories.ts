import type { FoundRepository, ListedEntry, SpellingOf, StatedMembers } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import type { ReadDirectory } from './directory.ts'
import { stampOf } from './facts/repository-stamp.ts'
import { reasonOf } from './files/why-unreadable.ts'
import { type GitoliteFor, ownerRefusal, rightsIn } from './gitolite/rights.ts'
import type { Layout } from './layout/layout.ts'
import { readMembersFile } from './members-file.ts'
import type { RepositoryDirectory } from './repository-directory.ts'

/** Repositories below a directory, and who may do what with them. */
export interface ServedTree {
  top: string
  layout: Layout
  gitolite: GitoliteFor
  /** For looking one up: it remembers what it has read. */
  read: ReadDirectory
}

export async function* listRepositories(
  { top, layout, gitolite }: ServedTree,
  spellingOf?: SpellingOf,
): AsyncGenerator<ListedEntry, void, void> {
  const rules = await gitolite({ again: true })
  for (const reason of (await rules?.warnings()) ?? [])
    yield { refused: { path: '.gitolite', reason } }
  for await (const place of layout.list({ ...(spellingOf && { spellingOf }) })) {
    if ('membersOf' in place)
      yield { members: await readMembersFile(top, place.membersOf, place.path) }
    else yield 'refused' in place ? place : await rowOf(place.repository, gitolite)
  }
}

export async function findRepository(
  { layout, gitolite, read }: ServedTree,
  owner: string,
  name: string,
): Promise<FoundRepository | undefined> {
  // Rejects where no rights can be read at all: then nothing is known to be gone.
  await (await gitolite())?.warnings()
  for await (const place of layout.list({ only: { owner, name }, read })) {
    if (!('repository' in place)) continue
    const row = await rowOf(place.repository, gitolite)
    return 'found' in row ? row.found : undefined
  }
  return undefined
}

export async function findMembers(
  { top, layout, read }: ServedTree,
  owner: string,
): Promise<StatedMembers | undefined> {
  for await (const place of layout.list({ only: { owner, name: '' }, read }))
    if ('membersOf' in place) return readMembersFile(top, place.membersOf, place.path)
  return undefined
}

async function rowOf(place: RepositoryDirectory, gitolite: GitoliteFor): Promise<ListedEntry> {
  const { owner, name, path, wikiDir } = place
  const refused = { path: `${path}.git`, hides: { fullName: `${owner}/${name}` } }
  try {
    const stamp = await stampOf(place)
    const rules = await gitolite()
    if (!rules) return { found: { owner, name, stamp, hasWiki: wikiDir !== null } }
    const rights = await rightsIn(rules, place)
    const reason = ownerRefusal(place, rights)
    if (reason !== undefined) return { refused: { ...refused, reason, isWithdrawn: true } }
    const stamps = `${stamp} ${rights.stamp}`
    return { found: { owner, name, stamp: stamps, hasWiki: wikiDir !== null } }
  } catch (error) {
    // Whose rights are not known is nobody's.
    if (error instanceof Unreadable)
      return { refused: { ...refused, reason: error.message, isWithdrawn: true } }
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    return { refused: { ...refused, reason } }
  }
}
