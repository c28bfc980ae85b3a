import { memoize } from '../../../lib/memoize.ts'
import type { Addresses } from '../../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../../repositories/facts.ts'
import {
  filling,
  type JsonOf,
  partMark,
  templateOf,
  valueMark,
} from '../../middleware/json-template.ts'
import { nodeId } from '../../middleware/node-id.ts'
import { utcTimestamp } from '../../middleware/timestamps.ts'
import { licenseJson } from '../licenses/license-json.ts'
import { userText } from '../users/user-json.ts'
import { extendedRepositoryJson, plainRepositoryJson } from './repository-json.ts'

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
  const computed = marksOf(addresses, (facts) => extended(facts))
  const fill = filling<Marked>(
    templateOf(shown, COMPUTED),
    (mark) => computed[mark] ?? (({ facts }) => json(facts[mark as keyof RepositoryFacts])),
  )
  const addressesOf = addressesWithin(addresses)
  const text: RepositoryText = (facts) =>
    // Facts of an older Godwit may lack something that was not known to it.
    fill({ facts, at: addressesOf(facts) }) ?? JSON.stringify(render(facts, addresses))
  const extended = form === 'extended' ? text : repositoryText('extended', addresses)
  return text
}

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

interface Marked {
  facts: RepositoryFacts
  /** As they stand between quotes. */
  at: RepositoryAddresses
}

const MAX_LICENSES_REMEMBERED = 1000

/** What the computed marks stand for: JSON, or for parts of addresses what stands between the quotes. */
function marksOf(
  addresses: Addresses,
  template: RepositoryText,
): Readonly<Record<string, JsonOf<Marked>>> {
  const owner = userText(addresses)
  const license = memoize(MAX_LICENSES_REMEMBERED, (spdxId: string) =>
    JSON.stringify(licenseJson(spdxId, addresses)),
  )
  return {
    api: ({ at }) => at.api,
    html: ({ at }) => at.html,
    clone: ({ at }) => at.clone,
    ssh: ({ at }) => at.ssh,
    git: ({ at }) => at.git,
    node_id: ({ facts }) => `"${nodeId('Repository', facts.id)}"`,
    full_name: ({ facts }) => `"${within(fullNameOf(facts))}"`,
    owner: ({ facts }) => owner(facts.owner),
    visibility: ({ facts }) => (facts.private ? '"private"' : '"public"'),
    mirror_url: ({ facts, at }) =>
      `"${typeof facts.mirrorOf === 'string' ? within(facts.mirrorOf) : at.git}"`,
    pushed_at: ({ facts }) => `"${utcTimestamp(facts.pushedAt)}"`,
    created_at: ({ facts }) => `"${utcTimestamp(facts.createdAt)}"`,
    updated_at: ({ facts }) => `"${utcTimestamp(facts.updatedAt)}"`,
    license: ({ facts }) => (facts.license === null ? 'null' : license(facts.license)),
    template_repository: ({ facts }) =>
      facts.template === null ? 'null' : template({ ...facts.template, template: null }),
  }
}

/** For most facts, faster than to ask for their JSON. */
function json(value: unknown): string | undefined {
  if (typeof value === 'string') return `"${within(value)}"`
  if (typeof value === 'boolean' || value === null || Number.isFinite(value)) return String(value)
  return JSON.stringify(value)
}

const PLAIN = /^[ !#-[\]-~]*$/

/** What stands between the quotes of its JSON. */
const within = (text: string): string =>
  PLAIN.test(text) ? text : JSON.stringify(text).slice(1, -1)

type RepositoryAddresses = ReturnType<Addresses['repository']>

/** They are made of the names alone: where nothing is to be escaped in those, nothing is in any of them. */
function addressesWithin(addresses: Addresses): (facts: RepositoryFacts) => RepositoryAddresses {
  const isPlainHost = Object.values(addresses.repository('', '')).every((text) => PLAIN.test(text))
  return (facts) => {
    const at = addresses.repository(facts.owner.login, facts.name)
    if (isPlainHost && PLAIN.test(fullNameOf(facts))) return at
    const { api, html, clone, ssh, git } = at
    return {
      api: within(api),
      html: within(html),
      clone: within(clone),
      ssh: within(ssh),
      git: within(git),
    }
  }
}
