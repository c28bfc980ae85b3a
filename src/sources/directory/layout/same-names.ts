import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { nameRefusal } from '../../../lib/names.ts'
import {
  A_LINK,
  NO_REPOSITORY,
  type RepositoryDirectory,
  refusal,
  refused,
  repositoryAt,
} from '../repository-directory.ts'
import type { FoundPlaces } from './layout.ts'

/** An entry `….git`, and the name that it would have by where it is. */
export interface Candidate {
  owner: string
  name: string
  /** Below the root, without `.git`. */
  path: string
  entry: Dirent
}

interface Judged extends Candidate {
  /** Why it is no repository; undefined where it is one. */
  reason: string | undefined
}

/**
 * Takes each name that one repository has, without regard to case. Where several have it, none is taken: to choose would be
 * to show one under the name by which the other is known, as soon as either goes away.
 */
export async function* settled(root: string, candidates: readonly Candidate[]): FoundPlaces {
  const judged: Judged[] = []
  for (const each of candidates) judged.push({ ...each, reason: await whyNone(root, each) })
  const holders = Map.groupBy(judged.filter(holdsName), keyOf)
  for (const each of judged) {
    const { owner, name, path, reason } = each
    const hides = { fullName: `${owner}/${name}` }
    const others = (holders.get(keyOf(each)) ?? []).filter((other) => other.path !== path)
    if (holdsName(each) && others.length > 0) {
      const same = others.map((other) => `${other.path}.git`).join(', ')
      yield refused(`${path}.git`, `${hides.fullName} would be its name and that of ${same}`, hides)
    } else if (reason !== undefined) {
      yield refused(`${path}.git`, reason, hides)
    } else {
      yield { repository: await repositoryAt(root, path, { owner, name }) }
    }
  }
}

/** Where the name leads: to who holds it, else to whatever stands where one could. */
export async function placesFor(
  root: string,
  candidates: readonly Candidate[],
): Promise<RepositoryDirectory[]> {
  const directories = candidates.filter(({ entry }) => entry.isDirectory())
  const holders: Candidate[] = []
  for (const each of directories)
    if (holdsName({ ...each, reason: await whyNone(root, each) })) holders.push(each)
  const there = holders.length > 0 ? holders : directories
  return Promise.all(there.map((each) => repositoryAt(root, each.path, each)))
}

async function whyNone(root: string, { name, path, entry }: Candidate) {
  const parts = path.split('/').map(nameRefusal)
  const odd = parts.find((reason) => reason !== undefined) ?? nameRefusal(name)
  return odd ?? refusal(join(root, `${path}.git`), entry)
}

/** What cannot be read now may be a repository: its name is not another's. */
const holdsName = ({ reason, entry }: Judged): boolean =>
  reason === undefined || (entry.isDirectory() && reason !== NO_REPOSITORY && reason !== A_LINK)

const keyOf = ({ owner, name }: Candidate): string => `${owner}/${name}`.toLowerCase()

/** Names are one without regard to case: who comes first in order has it. */
export interface TakenNames {
  /** Who has it already, spelled otherwise. */
  twinOf(name: string): string | undefined
  take(name: string): void
}

export function takenNames(): TakenNames {
  const taken = new Map<string, string>()
  return {
    twinOf: (name) => taken.get(name.toLowerCase()),
    take(name) {
      taken.set(name.toLowerCase(), name)
    },
  }
}

/** `site.wiki` is the wiki of `site` where there is a `site`, and a repository like any other where there is none. */
export function isWikiName(name: string, isThere: (name: string) => boolean): boolean {
  const of = name.slice(0, -'.wiki'.length)
  return name.endsWith('.wiki') && isThere(of) && !isWikiName(of, isThere)
}
