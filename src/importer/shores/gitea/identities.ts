import { createHash } from 'node:crypto'
import type { Author } from '../../../records/fact.ts'
import type { PeopleMap } from '../../people-map.ts'

export interface Identity {
  /** Never 0: then the server would take its own administrator for the author. */
  id: number
  name: string
}

/**
 * Whom the server is to show as the author. An account is named by its number and its name, both, and counts only where
 * `original_url` begins with the server's own address; all others stay original authors. Their numbers are below zero, where
 * no host has any: so nobody who linked an account of the same number is given their words. And they differ, because one
 * reaction of each number is all that old servers take.
 */
export function identities(
  people: PeopleMap,
  isTargetKnown: boolean,
): (author: Author) => Identity {
  return (author) => {
    const login = author ?? 'ghost'
    const { login: name, id } = people.get(login.toLowerCase()) ?? { login, id: undefined }
    return { name, id: isTargetKnown && id !== undefined ? id : numberBelowZero(name) }
  }
}

function numberBelowZero(name: string): number {
  const digest = createHash('sha256').update(name.toLowerCase()).digest()
  // Clear of -1, -2 and the like, which are accounts of the server's own.
  return -(1000 + digest.readUIntBE(0, 6))
}
