import type { Group, StoredGroups } from '../../discussions.ts'
import { HostRequestFailed, undefinedIf } from '../../host-errors.ts'
import { segment } from '../../host-url.ts'
import { undefinedIfRefused } from '../../http/confirm-absence.ts'
import * as json from '../../http/json-fields.ts'
import { pagesOf } from '../../http/pages.ts'
import { findAt } from '../forge-repositories.ts'
import { type Person, personOf } from '../records/people-records.ts'
import type { ReadContext } from './read-context.ts'
import { personGroup } from './read-metadata.ts'

interface KnownPeople {
  /** The groups of stored people who still have their login, with their current profiles. */
  current: Group[]
  /** Logins of stored people who were renamed or deleted. */
  former: string[]
  /** Numbers of stored issues that name one of these. The forge does not report them as changed. */
  issues: Set<number>
}

/** Finds out which people of the stored groups were renamed or deleted on the forge, without reading the issues again. */
export async function findPeople(context: ReadContext, stored: StoredGroups): Promise<KnownPeople> {
  const found: KnownPeople = { current: [], former: [], issues: new Set() }
  // Without an administrator's token, a user that is not visible looks like a deleted one.
  if (context.forge.isTokenRestricted) return found
  const before = new Map<string, number>()
  for await (const { key } of stored.versions('user/')) {
    const id = Number((await stored.find(key))?.seen?.id)
    if (id > 0) before.set(key.slice('user/'.length), id)
  }
  const listed = before.size > 0 ? await listPeople(context, before) : new Map<number, Person>()
  for (const [login, id] of before) {
    const person = listed.get(id) ?? (await findPerson(context, login))
    if (person?.id === id && person.user.login === login) found.current.push(personGroup(person))
    else found.former.push(login)
  }
  if (found.former.length > 0)
    for await (const { key } of stored.versions('issue/')) {
      const text = key.startsWith('issue/') ? JSON.stringify((await stored.find(key))?.records) : ''
      if (found.former.some((login) => text.includes(JSON.stringify(login))))
        found.issues.add(Number(key.slice('issue/'.length)))
    }
  return found
}

/** Lists the users of the forge, 50 with each request, unless that takes more requests than asking for each person. */
async function listPeople(
  { forge, signal, share }: ReadContext,
  wanted: ReadonlyMap<string, number>,
): Promise<Map<number, Person>> {
  const { client, paging } = forge
  const list = async (max: number) => {
    const people = new Map<number, Person>()
    let users = 0
    for await (const page of pagesOf(client, { path: '/admin/users', ...paging }, signal)) {
      for (const each of page.entries) people.set(json.integer(each, 'id'), personOf(each))
      users = page.total ?? 0
      if (people.size >= max) break
    }
    return { people, users }
  }
  const first = await share('first users', () => list(1)).catch(undefinedIfRefused)
  // A token may lack the permission to list users.
  if (!first) return new Map()
  const rest = [...wanted.values()].filter((id) => !first.people.has(id)).length
  const isCheaper = first.users > paging.limit && first.users < rest * paging.limit
  return isCheaper ? (await share('users', () => list(Infinity))).people : first.people
}

/** Returns the person who has this login, or null if nobody has. Gitea fails for the former login of a renamed person who was deleted. */
function findPerson({ forge: { client }, signal, share }: ReadContext, login: string) {
  const path = `/users/${segment(login)}`
  return share(`user ${login}`, async () => {
    const found = findAt(client, path, (entry) => [personOf(entry)], signal)
    const isFailure = (error: unknown) => error instanceof HostRequestFailed
    return (await found.catch(undefinedIf(isFailure))) ?? null
  })
}
