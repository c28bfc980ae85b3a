import type { Account } from '../../accounts/account.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../repositories/facts.ts'
import { nodeId } from '../door/node-id.ts'
import { utcTimestamp } from '../door/timestamps.ts'
import { extendedRepositoryJson, plainRepositoryJson, userJson } from '../migrations/github-json.ts'
import { licenseJson } from './license-json.ts'

export type RepositoryForm = 'plain' | 'extended'
export type RepositoryText = (facts: RepositoryFacts) => string

/** The renderers of this API, as objects. They say what a repository looks like; all else here only makes it faster. */
const RENDERERS: Record<RepositoryForm, (facts: RepositoryFacts, to: Addresses) => object> = {
  plain: plainRepositoryJson,
  extended: extendedRepositoryJson,
}

/**
 * A repository as JSON, the same to the byte as what its renderer and JSON.stringify make of it, several times as fast. The
 * renderer is asked once, about a repository whose every fact is a mark. Between the marks stands what is the same for all
 * repositories, most of it in forty addresses; what a mark stands for is put in its place.
 */
export function repositoryText(form: RepositoryForm, addresses: Addresses): RepositoryText {
  const render = RENDERERS[form]
  const shown = render(MARKED_FACTS, marked(addresses))
  const template = cut(
    JSON.stringify(shown, (name, value) => (COMPUTED.has(name) ? valueMark(name) : value)),
  )
  const compute = computing(addresses, (facts) => extended(facts))
  const text: RepositoryText = (facts) =>
    // Facts of an older Godwit may lack something that was not known to it.
    fill(template, facts, compute(facts)) ?? JSON.stringify(render(facts, addresses))
  const extended = form === 'extended' ? text : repositoryText('extended', addresses)
  return text
}

/** Control characters, which stand in no address: JSON has them as their numbers, and so they are found in its text. */
const valueMark = (name: string): string => `\u0001${name}\u0003`
/** Stands within a string that has more in it. */
const partMark = (name: string): string => `\u0002${name}\u0003`
const MARK = /"\\u0001(\w+)\\u0003"|\\u0002(\w+)\\u0003/

/** Whatever a renderer only passes on is a mark; what it computes with is something that it can compute with. */
const MARKED_FACTS = new Proxy(
  {
    owner: { id: 0, login: '', type: 'User', siteAdmin: false, createdAt: 0 },
    pushedAt: 0,
    createdAt: 0,
    updatedAt: 0,
    license: null,
    template: null,
  } as Partial<RepositoryFacts>,
  { get: (some, name) => (name in some ? Reflect.get(some, name) : valueMark(String(name))) },
) as RepositoryFacts

/** Members that a renderer computes from facts. */
const COMPUTED = new Set([
  ...['node_id', 'full_name', 'owner', 'visibility', 'mirror_url', 'license'],
  ...['pushed_at', 'created_at', 'updated_at', 'template_repository'],
])

function marked(addresses: Addresses): Addresses {
  const [api, html, clone, ssh, git] = ['api', 'html', 'clone', 'ssh', 'git'].map(partMark)
  const repository = { api: api!, html: html!, clone: clone!, ssh: ssh!, git: git! }
  return { ...addresses, repository: () => repository }
}

/** Text in which one mark stands, once or several times. */
interface Run {
  mark: string
  /** What stands around the mark, but for what stands before its first occurrence. */
  between: string[]
}

interface Template {
  opening: string
  runs: Run[]
}

function cut(text: string): Template {
  const [opening, ...pieces] = text.split(new RegExp(MARK, 'g'))
  const runs: Run[] = []
  for (let at = 0; at < pieces.length; at += 3) {
    const mark = pieces[at] ?? pieces[at + 1]!
    const last = runs.at(-1)
    // Addresses that begin alike follow each other: they are filled in together.
    if (last?.mark === mark) last.between.push(pieces[at + 2]!)
    else runs.push({ mark, between: ['', pieces[at + 2]!] })
  }
  return { opening: opening!, runs }
}

/** Undefined where a value is. */
function fill(
  { opening, runs }: Template,
  facts: RepositoryFacts,
  computed: Computed,
): string | undefined {
  let text = opening
  for (const { mark, between } of runs) {
    const value =
      mark in computed
        ? computed[mark as keyof Computed]
        : json(facts[mark as keyof RepositoryFacts])
    if (value === undefined) return undefined
    text += between.length === 2 ? value + between[1]! : between.join(value)
  }
  return text
}

type Computed = ReturnType<ReturnType<typeof computing>>

/** What the computed marks stand for: JSON, or for parts of addresses what stands between the quotes. */
function computing(addresses: Addresses, template: RepositoryText) {
  const owner = remembered(
    ({ id, login, type, siteAdmin }: Account) => `${id} ${type} ${siteAdmin} ${login}`,
    (account) => JSON.stringify(userJson(account, addresses)),
  )
  const license = remembered(
    (spdxId: string) => spdxId,
    (spdxId) => JSON.stringify(licenseJson(spdxId, addresses)),
  )
  return (facts: RepositoryFacts) => {
    const { api, html, clone, ssh, git } = addresses.repository(facts.owner.login, facts.name)
    return {
      api: within(api),
      html: within(html),
      clone: within(clone),
      ssh: within(ssh),
      git: within(git),
      node_id: `"${nodeId('Repository', facts.id)}"`,
      full_name: JSON.stringify(fullNameOf(facts)),
      owner: owner(facts.owner),
      visibility: facts.private ? '"private"' : '"public"',
      mirror_url: JSON.stringify(facts.mirrorOf ?? git),
      pushed_at: `"${utcTimestamp(facts.pushedAt)}"`,
      created_at: `"${utcTimestamp(facts.createdAt)}"`,
      updated_at: `"${utcTimestamp(facts.updatedAt)}"`,
      license: facts.license === null ? 'null' : license(facts.license),
      template_repository:
        facts.template === null ? 'null' : template({ ...facts.template, template: null }),
    }
  }
}

function json(value: unknown): string | undefined {
  if (value === true) return 'true'
  return value === false ? 'false' : JSON.stringify(value)
}

const within = (text: string): string => JSON.stringify(text).slice(1, -1)

const MAX_REMEMBERED = 10_000

/** For the few owners and licences that very many repositories share. */
function remembered<T>(keyOf: (of: T) => string, make: (of: T) => string): (of: T) => string {
  const made = new Map<string, string>()
  return (of) => {
    const key = keyOf(of)
    let text = made.get(key)
    if (text === undefined) {
      text = make(of)
      if (made.size >= MAX_REMEMBERED) made.clear()
      made.set(key, text)
    }
    return text
  }
}
