import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryFacts } from '../../repositories/facts.ts'
import { fillIn, partMark, remembered, templateOf, valueMark } from '../door/json-template.ts'
import { nodeId } from '../door/node-id.ts'
import { utcTimestamp } from '../door/timestamps.ts'
import { extendedRepositoryJson, plainRepositoryJson, userText } from '../migrations/github-json.ts'
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
  const template = templateOf(shown, COMPUTED)
  const compute = computing(addresses, (facts) => extended(facts))
  const text: RepositoryText = (facts) => {
    const computed = compute(facts)
    const filled = fillIn(template, (mark) =>
      mark in computed
        ? computed[mark as keyof Computed]
        : json(facts[mark as keyof RepositoryFacts]),
    )
    // Facts of an older Godwit may lack something that was not known to it.
    return filled ?? JSON.stringify(render(facts, addresses))
  }
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

type Computed = ReturnType<ReturnType<typeof computing>>

/** What the computed marks stand for: JSON, or for parts of addresses what stands between the quotes. */
function computing(addresses: Addresses, template: RepositoryText) {
  const owner = userText(addresses)
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
