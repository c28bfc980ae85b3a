import type { FactKind, FactsByKind } from './facts.ts'
import { writeRecord } from './write-records.ts'

/**
 * The logins that a record of this fact links to, of people, bots and organizations alike: each of them needs a record too.
 * Told by the writer itself, so that neither can know of a link that the other forgets.
 */
export function loginsIn<K extends FactKind>(kind: K, fact: FactsByKind[K]): Set<string> {
  const logins = new Set<string>()
  writeRecord(kind, fact, {
    host: '',
    person(login) {
      logins.add(login)
      return login
    },
    repository: (fullName) => fullName,
  })
  return logins
}
