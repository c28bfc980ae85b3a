import { type User, unknownUser } from '../../records/people.ts'
import type { Author } from '../../records/record.ts'
import type { MappedPerson } from '../people.ts'

type Member = { username: string; email: string }

/**
 * The people of an export. It has the username and the e-mail address of members, and the name of those who wrote notes. Everyone else
 * is only an id, and gets the login `gitlab-user-ID`.
 */
export class People {
  readonly #map: Map<string, MappedPerson>
  readonly #members = new Map<number, Member>()
  readonly #names = new Map<number, string>()
  /** By id: everyone that a record refers to. */
  readonly #logins = new Map<number, string>()
  /** Usernames that occur only in texts. */
  readonly #mentioned = new Set<string>()

  constructor(map: Map<string, MappedPerson>) {
    this.#map = map
  }

  addMember(id: number, member: Member): void {
    this.#members.set(id, member)
  }

  addName(id: unknown, name: unknown): void {
    if (typeof id === 'number' && typeof name === 'string' && name !== '') this.#names.set(id, name)
  }

  /**
   * Returns the login of a user: the username, or a placeholder. If the file of `--people` names the user by id or e-mail address, the
   * login is added to it.
   */
  login(id: unknown): Author {
    if (typeof id !== 'number') return null
    const known = this.#logins.get(id)
    if (known !== undefined) return known
    const { username = '', email = '' } = this.#members.get(id) ?? {}
    const login = username || `gitlab-user-${id}`
    const person = [login.toLowerCase(), String(id), email.toLowerCase()]
      .map((key) => this.#map.get(key))
      .find(Boolean)
    if (person) this.#map.set(login.toLowerCase(), person)
    this.#logins.set(id, login)
    return login
  }

  /** Adds a person whom a text names. */
  mention(username: string): void {
    this.#mentioned.add(username)
  }

  /** Returns the new logins of members and mentioned people, by username. */
  loginsByUsername(): Map<string, string> {
    for (const id of this.#members.keys()) this.login(id)
    const usernames = [
      ...Array.from(this.#members.values(), (each) => each.username),
      ...this.#mentioned,
    ]
    return new Map(
      usernames.map((name) => [name, this.#map.get(name.toLowerCase())?.login ?? name]),
    )
  }

  /** Returns everyone that `login` was called for, and mentioned people. */
  users(): User[] {
    const users = new Map<string, User>()
    for (const [id, login] of this.#logins) {
      const email = this.#members.get(id)?.email ?? ''
      const emails = email === '' ? [] : [{ address: email, primary: true, verified: false }]
      const user = { ...unknownUser(login), name: this.#names.get(id) ?? null, emails }
      if (!users.has(login.toLowerCase())) users.set(login.toLowerCase(), user)
    }
    for (const login of this.#mentioned)
      if (!users.has(login.toLowerCase())) users.set(login.toLowerCase(), unknownUser(login))
    return [...users.values()]
  }
}
