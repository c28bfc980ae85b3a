import type { FactKind, FactsByKind } from '../records/fact-kinds.ts'
import type { FormatReader } from './format.ts'
import type { PeopleMap } from './people.ts'

/** The fields of facts that contain logins, at any depth. */
const LOGIN_FIELDS = new Set(
  'author actor login creator resolver assignees authorizedUsers dismissalUsers owner'.split(' '),
)

/** Returns the content with new logins in its facts. If several accounts get the same login, only the fact of the first one is used. */
export function mapPeople(content: FormatReader, people: PeopleMap): FormatReader {
  if (people.size === 0) return content
  const mapped = (value: unknown, isLogin: boolean): unknown => {
    if (typeof value === 'string')
      return isLogin ? (people.get(value.toLowerCase())?.login ?? value) : value
    if (Array.isArray(value)) return value.map((each) => mapped(each, isLogin))
    if (typeof value !== 'object' || value === null) return value
    const fields = Object.entries(value).map(([key, each]) => [
      key,
      mapped(each, LOGIN_FIELDS.has(key)),
    ])
    return Object.fromEntries(fields)
  }
  async function* facts<K extends FactKind>(kind: K) {
    const logins = new Set<string>()
    for await (const each of content.facts(kind)) {
      // The owner of a repository keeps its login, which is part of the full name.
      const owner = kind === 'repositories' && 'owner' in each ? { owner: each.owner } : {}
      const fact = { ...(mapped(each, false) as FactsByKind[K]), ...owner }
      const login = 'login' in fact ? fact.login.toLowerCase() : undefined
      if (login === undefined || !logins.has(login)) yield fact
      if (login !== undefined) logins.add(login)
    }
  }
  return { ...content, facts }
}
