import type { Examination, Found } from './examine.ts'
import { readable } from './examine-refs.ts'

const MAX_NAMED = 3
/** GitHub takes such a name for that of an object. */
const LIKE_AN_OBJECT = /^refs\/(?:heads|tags)\/([0-9a-f]{40})$/i

/**
 * What GitHub's importers would not take of a repository that can be exported, and what is not exported of it, each in a
 * line. From the examination alone, so that an export and a preflight say the same.
 */
export function importerRefusals({ repository, wiki }: Examination): string[] {
  const parts = wiki ? [repository, wiki] : [repository]
  return [
    ...(parts.some(({ objectFormat }) => objectFormat === 'sha256')
      ? ["GitHub's importers do not take repositories with SHA-256 objects"]
      : []),
    ...hexNames(parts),
    ...lfsObjects(parts),
    ...parts.flatMap(({ kept }) =>
      kept.attributesProblem === undefined ? [] : [`${kept.attributesProblem}: not exported`],
    ),
  ]
}

function hexNames(parts: readonly Found[]): string[] {
  const names = parts.flatMap(({ refs }) =>
    refs.flatMap(({ name }) => (LIKE_AN_OBJECT.test(name) ? [readable(name)] : [])),
  )
  if (names.length === 0) return []
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  return [
    `GitHub's importers refuse names of 40 hex digits: ${names.slice(0, MAX_NAMED).join(', ')}${more}`,
  ]
}

function lfsObjects(parts: readonly Found[]): string[] {
  const count = parts.reduce((sum, { lfsObjects: objects }) => sum + objects.length, 0)
  if (count === 0) return []
  const what = count === 1 ? '1 LFS object' : `${count} LFS objects`
  return [`GitHub's importers do not take LFS objects: push ${what} after the import`]
}
