import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ArchiveRefused } from '../../archive/unreadable-archive.ts'
import type { FormatReader } from '../../formats/format.ts'
import { type LinkTargets, rewriteLinks } from '../../formats/gitea-dump/rewrite-links.ts'
import type { PeopleMap } from '../../formats/people.ts'
import type { Git } from '../../git/git.ts'
import { sortedRows } from '../../lib/sorted-rows.ts'
import type { Author } from '../../records/fact.ts'
import type { Host } from '../../sources/forge/open-host.ts'
import { ForgeRequestFailed } from '../../sources/forge-errors.ts'
import {
  COMPARED_KINDS,
  type Item,
  type ItemContext,
  TEXT_FIELDS,
  type Value,
} from './compared-kinds.ts'
import { type KnownContext, knownDifference } from './known-differences.ts'
import { type ReadParts, readArchive } from './read-archive.ts'
import { readHostRepository } from './read-host.ts'
import { type ComparedKind, type FactsByComparedKind, SIDES, type Side, Spool } from './spool.ts'

export interface CompareParts {
  git: Git
  left: FormatReader
  right: FormatReader | Host
  people: PeopleMap
  /** The owner of the repositories on the right; '' for the same as on the left, or as `people` has it. */
  owner: string
  /** Whether what `godwit finish` transfers must have arrived. */
  isFinished: boolean
  scratch: string
  onProgress(step: string): void
}

export const OUTCOMES = ['equal', 'changed', 'missing', 'extra', 'known'] as const
export type Outcome = (typeof OUTCOMES)[number]
type Counts = Record<Outcome, number>

export interface Difference {
  kind: ComparedKind
  name: string
  outcome: Exclude<Outcome, 'equal'>
  /** Why it is expected, if the outcome is `known`. */
  reasons: string[]
  /** The fields that differ. Empty if one side lacks the whole. */
  fields: { field: string; left: Value; right: Value }[]
}

export interface ComparedRepository {
  left: string
  right: string
  /** Why the repository could not be compared, or undefined. */
  failure?: string
  kinds: Partial<Record<ComparedKind, Counts>>
  /** The first differences of each kind. */
  differences: Difference[]
}

export interface Comparison {
  repositories: ComparedRepository[]
  totals: Counts
  /** How often each reason made a difference an expected one. */
  known: Map<string, number>
  notes: string[]
  /** Whether everything is equal or known. */
  isComplete: boolean
}

const MAX_DIFFERENCES = 50

/** Compares an archive with another one, or with a host as it is now. Writes nothing on the host. */
export async function compare(parts: CompareParts, signal: AbortSignal): Promise<Comparison> {
  const { left, right, git, scratch, onProgress } = parts
  using rows = sortedRows(join(scratch, 'facts'))
  const spool = new Spool(rows)
  const names = new Names(parts)
  const failures = new Map<string, string>()
  const notes = new Set<string>()
  for (const { full_name, kind, count, examples } of left.summary.losses)
    notes.add(
      `the archive says that it lacks ${count} ${kind.replaceAll('_', ' ')}${full_name ? ` of ${full_name}` : ''}: ${examples.join('; ')}`,
    )
  const read: Omit<ReadParts, 'side' | 'nameOnLeft'> = {
    ...{ spool, git, onProgress },
    onFailure: (fullName, reason) => failures.set(fullName.toLowerCase(), reason),
    onNote: (note) => notes.add(note),
  }
  await readArchive(left, { ...read, side: 'left', nameOnLeft: (name) => name }, signal)
  const there = { ...read, side: 'right' as const, nameOnLeft: names.onLeft }
  if ('facts' in right) {
    await readArchive(right, there, signal)
    const found = new Set(right.fullNames.map((name) => names.onLeft(name).toLowerCase()))
    for (const name of left.fullNames)
      if (!found.has(name.toLowerCase()))
        failures.set(name.toLowerCase(), 'the other archive does not have it')
    for (const name of right.fullNames.map(names.onLeft))
      if (!names.isOnLeft(name)) failures.set(name.toLowerCase(), 'only the other archive has it')
  } else
    for (const name of left.fullNames) {
      const [owner = '', short = ''] = names.onRight(name).split('/')
      const host = { ...there, host: right, scratch }
      try {
        if (!(await readHostRepository({ owner, name: short }, host, signal)))
          failures.set(
            name.toLowerCase(),
            `${right.url} does not have it, or the token may not read it`,
          )
      } catch (error) {
        if (!(error instanceof ForgeRequestFailed) || error.status === 401) throw error
        failures.set(name.toLowerCase(), error.message)
      }
    }
  const version = 'facts' in right ? ([0, 0] as const) : await right.version(signal)
  onProgress('comparing')
  const all = [...left.fullNames, ...('facts' in right ? right.fullNames.map(names.onLeft) : [])]
  const totals = noCounts()
  const known = new Map<string, number>()
  const shared = {
    spool,
    names,
    known,
    totals,
    targets: linkTargets(parts, spool, names),
    version,
  }
  const repositories = [...new Set(all)].map((name): ComparedRepository => {
    signal.throwIfAborted()
    const failure = failures.get(name.toLowerCase())
    const compared = { left: name, right: names.onRight(name), kinds: {}, differences: [] }
    return failure === undefined
      ? new RepositoryComparison(compared, parts, shared).run()
      : { ...compared, failure }
  })
  const isComplete = totals.changed + totals.missing + totals.extra === 0 && failures.size === 0
  return { repositories, totals, known, notes: [...notes].sort(), isComplete }
}

const noCounts = (): Counts => ({ equal: 0, changed: 0, missing: 0, extra: 0, known: 0 })

/** The names of repositories and people on both sides. */
class Names {
  readonly #parts: CompareParts
  readonly #left = new Map<string, string>()
  readonly #accounts: Set<string>

  constructor(parts: CompareParts) {
    this.#parts = parts
    for (const name of parts.left.fullNames) {
      const there = this.onRight(name).toLowerCase()
      const other = this.#left.get(there)
      if (other !== undefined)
        throw new ArchiveRefused(`${other} and ${name} would both be compared with ${there}`)
      this.#left.set(there, name)
    }
    this.#accounts = new Set(parts.people.values().map(({ login }) => login.toLowerCase()))
  }

  onRight = (fullName: string): string => {
    const [owner = '', name = ''] = fullName.split('/')
    const { people, owner: newOwner } = this.#parts
    return `${newOwner || people.get(owner.toLowerCase())?.login || owner}/${name}`
  }
  /** A repository that the left side does not have keeps its name. */
  onLeft = (fullName: string): string => this.#left.get(fullName.toLowerCase()) ?? fullName
  isOnLeft = (fullName: string): boolean => this.#left.values().some((name) => name === fullName)
  person = (side: Side, login: Author): string => {
    const key = (login ?? 'ghost').toLowerCase()
    return side === 'left' ? (this.#parts.people.get(key)?.login.toLowerCase() ?? key) : key
  }
  isMapped = (login: string): boolean => this.#accounts.has(login.toLowerCase())
  isLinked = (login: string): boolean =>
    this.#parts.people
      .values()
      .some(({ login: each, id }) => id !== undefined && each.toLowerCase() === login.toLowerCase())
}

interface Shared {
  spool: Spool
  names: Names
  known: Map<string, number>
  totals: Counts
  targets: LinkTargets
  version: KnownContext['version']
}

class RepositoryComparison {
  readonly #result: ComparedRepository
  readonly #parts: CompareParts
  readonly #shared: Shared
  readonly #contexts: Record<Side, ItemContext>
  readonly #known: KnownContext

  constructor(result: ComparedRepository, parts: CompareParts, shared: Shared) {
    this.#result = result
    this.#parts = parts
    this.#shared = shared
    const { spool, names } = shared
    const contextOf = (side: Side): ItemContext => ({
      ...{ side, spool, repository: result.left },
      person: (login) => names.person(side, login),
    })
    this.#contexts = { left: contextOf('left'), right: contextOf('right') }
    const { right, isFinished } = parts
    this.#known = {
      target: 'facts' in right ? 'archive' : right.kind,
      isFinished,
      isMapped: names.isMapped,
      isLinked: names.isLinked,
      version: shared.version,
      losses: {
        extra: lossesOf(parts.left, result.left),
        missing: 'facts' in right ? lossesOf(right, result.right) : new Set(),
      },
      hasIssue: (number) => shared.targets.kindOf(result.right, number) !== undefined,
      pullHeads: this.#leftSet('pull_requests', ({ head }) => head.sha),
      lineComments: this.#leftSet(
        'pull_request_review_comments',
        (fact) => this.#itemOf('pull_request_review_comments', fact, 'left').key,
      ),
    }
  }

  #leftSet<K extends ComparedKind>(kind: K, pick: (fact: FactsByComparedKind[K]) => string) {
    const groups = Iterator.from(this.#shared.spool.groups(kind, this.#result.left))
    return new Set(groups.flatMap(({ left }) => left.map(pick)))
  }

  #itemOf<K extends ComparedKind>(kind: K, fact: FactsByComparedKind[K], side: Side): Item {
    return COMPARED_KINDS[kind](fact, this.#contexts[side])
  }

  run(): ComparedRepository {
    for (const kind of Object.keys(COMPARED_KINDS) as ComparedKind[]) this.#compareKind(kind)
    return this.#result
  }

  #compareKind<K extends ComparedKind>(kind: K): void {
    for (const group of this.#shared.spool.groups(kind, this.#result.left)) {
      const [left, right] = SIDES.map((side) => this.#itemsOf(kind, group[side], side))
      for (const key of new Set([...left!.keys(), ...right!.keys()]))
        for (const pair of this.#pairs(left!.get(key) ?? [], right!.get(key) ?? []))
          this.#count(kind, ...pair)
    }
  }

  #itemsOf<K extends ComparedKind>(
    kind: K,
    facts: readonly FactsByComparedKind[K][],
    side: Side,
  ): Map<string, Item[]> {
    const items = facts.map((fact) => this.#itemOf(kind, fact, side))
    return Map.groupBy(items, ({ key }) => key)
  }

  /** Several comments may be from the same second. Those that are equal belong together, and the others in their order. */
  #pairs(left: Item[], right: Item[]): [Item | undefined, Item | undefined][] {
    const rest = [...right]
    const pairs = left.map((item): [Item, Item | undefined] => {
      const at = rest.findIndex((other) => this.#differingFields(item, other).length === 0)
      return [item, at < 0 ? undefined : rest.splice(at, 1)[0]]
    })
    return [
      ...pairs.map(([item, other]): [Item, Item | undefined] => [item, other ?? rest.shift()]),
      ...rest.map((other): [undefined, Item] => [undefined, other]),
    ]
  }

  #count(kind: ComparedKind, left: Item | undefined, right: Item | undefined): void {
    const difference = this.#differenceOf(kind, left, right)
    const { kinds, differences } = this.#result
    const counts = kinds[kind] ?? noCounts()
    kinds[kind] = counts
    const outcome = difference?.outcome ?? 'equal'
    counts[outcome]++
    this.#shared.totals[outcome]++
    if (!difference) return
    if (counts[outcome] <= MAX_DIFFERENCES) differences.push(difference)
  }

  #differenceOf(
    kind: ComparedKind,
    left: Item | undefined,
    right: Item | undefined,
  ): Difference | undefined {
    const { name } = (left ?? right)!
    if (!left || !right) {
      const outcome = left ? 'missing' : 'extra'
      const rule = this.#knownDifference(kind, outcome, left, right)
      const reasons = rule ? [rule.reason] : []
      return { kind, name, outcome: rule ? 'known' : outcome, reasons, fields: [] }
    }
    const differing = this.#differingFields(left, right)
      .map((field) => ({ field, rule: this.#knownDifference(kind, field, left, right) }))
      .filter(({ rule }) => !rule?.isUnreadable)
    if (differing.length === 0) return undefined
    const unexpected = differing.filter(({ rule }) => rule === undefined)
    const shown = unexpected.length > 0 ? unexpected : differing
    return {
      kind,
      name,
      outcome: unexpected.length > 0 ? 'changed' : 'known',
      reasons: [...new Set(shown.flatMap(({ rule }) => rule?.reason ?? []))],
      fields: shown.map(({ field }) => ({
        field,
        left: left.fields[field],
        right: right.fields[field],
      })),
    }
  }

  #knownDifference(kind: ComparedKind, what: string, left?: Item, right?: Item) {
    const { known } = this.#shared
    const rule = knownDifference(what, { kind, left, right, context: this.#known })
    if (rule) known.set(rule.reason, (known.get(rule.reason) ?? 0) + 1)
    return rule
  }

  #differingFields(left: Item, right: Item): string[] {
    return Object.keys(left.fields).filter((field) => {
      const [here, there] = [left.fields[field], right.fields[field]]
      if (here === undefined || there === undefined || isDeepStrictEqual(here, there)) return false
      const areTexts =
        TEXT_FIELDS.has(field) && typeof here === 'string' && typeof there === 'string'
      return !areTexts || !this.#isSameText(here, there)
    })
  }

  /** Returns whether two texts differ at most in links that lead to the same, and in characters that servers cannot store. */
  #isSameText(left: string, right: string): boolean {
    const there = this.#plainText('right', right)
    const here = this.#plainText('left', left)
    if (here === there) return true
    if ('facts' in this.#parts.right) return false
    const { right: host } = this.#parts
    const newName = this.#result.right
    const rewritten = ['/', `${host.url}/`].map((base) =>
      rewriteLinks(here, newName, { ...this.#shared.targets, base }),
    )
    const moved = here.replaceAll(
      this.#parts.left.urlOf(this.#result.left),
      `${host.url}/${newName}`,
    )
    return [...rewritten, moved].includes(there)
  }

  /** Returns a text in which each link to an attachment is replaced by the digest of the file. */
  #plainText(side: Side, text: string): string {
    const { spool } = this.#shared
    return text
      .toWellFormed()
      .replaceAll('\u0000', '\ufffd')
      .replaceAll('\r\n', '\n')
      .replace(ATTACHMENT_LINK, (link, uuid: string) => {
        // Without `godwit finish`, a text still has the link of the old host.
        const digest = spool.uploadOf(side, uuid) ?? spool.uploadOf('left', uuid)
        return digest === undefined ? link : `attachment ${digest}`
      })
  }
}

const ATTACHMENT_LINK =
  /(?:https?:\/\/[^\s()<>"'\\]*?)?(?:\/[\w.-]+\/[\w.-]+)?\/(?:attachments|user-attachments\/(?:assets|files))\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])/gi

/** Returns the kinds of which an archive says that it lacks some in this repository. */
const lossesOf = ({ summary }: FormatReader, fullName: string): ReadonlySet<string> =>
  new Set(
    summary.losses
      .filter(({ full_name }) => full_name === null || full_name === fullName)
      .map(({ kind }) => kind.toLowerCase()),
  )

/** Describes how `convert --to gitea-dump` rewrites the links of the archive. */
function linkTargets({ left }: CompareParts, spool: Spool, names: Names): LinkTargets {
  const [byUrl, renames] = [new Map<string, string>(), new Map<string, string>()]
  for (const name of left.fullNames) {
    const url = left.urlOf(name)
    if (url) byUrl.set(url.toLowerCase(), names.onRight(name))
    if (names.onRight(name) !== name) renames.set(name.toLowerCase(), names.onRight(name))
  }
  return {
    byUrl,
    longestUrl: byUrl.keys().reduce((longest, { length }) => Math.max(longest, length), 0),
    renamed: renames,
    // Links to attachments are compared by the digests of the files.
    attachments: new Map(),
    base: '/',
    kindOf(fullName, number) {
      const name = names.onLeft(fullName).toLowerCase()
      if (spool.rows.has(`issues ${name}`, number)) return 'issue'
      return spool.rows.has(`pull_requests ${name}`, number) ? 'pull_request' : undefined
    },
  }
}
