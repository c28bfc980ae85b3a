import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Git } from '@godwit/git/git'
import { formatRecordCount } from '@godwit/lib/findings'
import { sortedRows } from '@godwit/lib/sorted-rows'
import { UserError } from '@godwit/lib/user-error'
import type { FormatReader } from '../formats/format.ts'
import { type LinkTargets, linkTargets, rewriteLinks } from '../formats/gitea-dump/rewrite-links.ts'
import type { MappedPerson, PeopleMap } from '../formats/people.ts'
import type { PullRequest } from '../records/pull-request.ts'
import type { Author } from '../records/record.ts'
import type { ManifestLoss } from '../tar/manifest.ts'
import {
  COMPARED_KINDS,
  type Item,
  type ItemContext,
  seconds,
  TEXT_FIELDS,
  type Value,
} from './compared-kinds.ts'
import { type ComparedKind, ComparisonRows, SIDES, type Side } from './comparison-rows.ts'
import { type KnownContext, knownDifference } from './known-differences.ts'
import { type ReadOptions, readArchive } from './read-archive.ts'

/** A live host, of which the same is read as of an archive. */
export interface ComparedHost {
  kind: 'forge' | 'github'
  /** The address of its pages, without a trailing slash. */
  url: string
  /** Returns the version of Gitea whose features it has, or undefined if it is no Gitea or Forgejo. */
  giteaVersion(signal: AbortSignal): Promise<KnownContext['version']>
  /**
   * Reads one repository into the rows, which have that of the archive already. `fullName` is the name on the host, and `scratch` a
   * directory for files that the caller removes.
   */
  readRepository(fullName: string, options: ReadOptions, scratch: string): Promise<void>
}

export interface CompareOptions {
  git: Git
  left: FormatReader
  right: FormatReader | ComparedHost
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

/** How many differences of each kind and outcome are listed for a repository. The counts have all. */
const MAX_DIFFERENCES = 50

/** Compares an archive with another one, or with a host as it is now. Writes nothing on the host. */
export async function compare(options: CompareOptions, signal: AbortSignal): Promise<Comparison> {
  const { left, right, git, scratch, onProgress } = options
  using rows = sortedRows(join(scratch, 'records'))
  const comparisonRows = new ComparisonRows(rows)
  const names = namesOf(options)
  const failures = new Map<string, string>()
  const notes = new Set(left.summary.losses.map(describeLoss))
  const common = {
    comparisonRows,
    git,
    onProgress,
    signal,
    onFailure: (fullName: string, reason: string) => void failures.set(fullName, reason),
    onNote: (note: string) => void notes.add(note),
  }
  await readArchive(left, { ...common, side: 'left', nameOnLeft: (name) => name })
  const toRight = { ...common, side: 'right' as const, nameOnLeft: names.onLeft }
  // Both are names on the left. A host is only asked for the repositories of the archive.
  const leftNames = new Set(left.fullNames)
  const rightNames = 'records' in right ? new Set(right.fullNames.map(names.onLeft)) : leftNames
  if ('records' in right) {
    await readArchive(right, toRight)
    for (const name of leftNames.difference(rightNames))
      failures.set(name, 'the other archive does not have it')
    for (const name of rightNames.difference(leftNames))
      failures.set(name, 'only the other archive has it')
  } else
    for (const name of leftNames) await right.readRepository(names.onRight(name), toRight, scratch)
  onProgress('comparing')
  const shared: Shared = {
    ...options,
    comparisonRows,
    names,
    known: new Map(),
    totals: noCounts(),
    targets: targetsOf(options, comparisonRows, names),
    version: 'records' in right ? [0, 0] : await right.giteaVersion(signal),
  }
  const repositories = [...leftNames.union(rightNames)].map((name): ComparedRepository => {
    signal.throwIfAborted()
    const failure = failures.get(name)
    const result = { left: name, right: names.onRight(name), kinds: {}, differences: [] }
    return failure === undefined
      ? new RepositoryComparison(result, shared).run()
      : { ...result, failure }
  })
  const { totals, known } = shared
  const isComplete = totals.changed + totals.missing + totals.extra === 0 && failures.size === 0
  return { repositories, totals, known, notes: [...notes].sort(), isComplete }
}

const noCounts = (): Counts => ({ equal: 0, changed: 0, missing: 0, extra: 0, known: 0 })

function describeLoss({ full_name, kind, count, examples }: ManifestLoss): string {
  const what = `${formatRecordCount(kind, count)}${full_name ? ` of ${full_name}` : ''}`
  return `the archive says that it lacks ${[what, examples.join('; ')].filter(Boolean).join(': ')}`
}

const lowerLogin = ({ login }: MappedPerson): string => login.toLowerCase()

type Names = ReturnType<typeof namesOf>

/** Returns the names of repositories and people on both sides. */
function namesOf({ left, people, owner: newOwner }: CompareOptions) {
  const onRight = (fullName: string): string => {
    const [owner = '', name = ''] = fullName.split('/')
    return `${newOwner || people.get(owner.toLowerCase())?.login || owner}/${name}`
  }
  const byRightName = new Map<string, string>()
  for (const name of left.fullNames) {
    const there = onRight(name).toLowerCase()
    const other = byRightName.get(there)
    if (other !== undefined)
      throw new UserError(`${other} and ${name} would both be compared with ${there}`)
    byRightName.set(there, name)
  }
  const accounts = [...people.values()]
  return {
    mapped: new Set(accounts.map(lowerLogin)),
    linked: new Set(accounts.filter(({ id }) => id !== undefined).map(lowerLogin)),
    linkedByEmail: new Set(accounts.filter(({ email }) => email !== undefined).map(lowerLogin)),
    onRight,
    /** A repository that the left side does not have keeps its name. */
    onLeft: (fullName: string) => byRightName.get(fullName.toLowerCase()) ?? fullName,
    /** Returns the login on the right, in lower case. */
    person(side: Side, login: Author): string {
      const key = (login ?? 'ghost').toLowerCase()
      return side === 'left' ? (people.get(key)?.login.toLowerCase() ?? key) : key
    },
  }
}

/** What the comparisons of all repositories use. */
interface Shared extends CompareOptions {
  comparisonRows: ComparisonRows
  names: Names
  known: Map<string, number>
  totals: Counts
  targets: LinkTargets
  version: KnownContext['version']
}

class RepositoryComparison {
  readonly #result: ComparedRepository
  readonly #shared: Shared
  readonly #contexts: Record<Side, ItemContext>
  readonly #known: KnownContext

  constructor(result: ComparedRepository, shared: Shared) {
    this.#result = result
    this.#shared = shared
    const { comparisonRows, names, right, isFinished, version } = shared
    const contextOf = (side: Side): ItemContext => ({
      side,
      comparisonRows,
      repository: result.left,
      person: (login) => names.person(side, login),
    })
    const contexts = { left: contextOf('left'), right: contextOf('right') }
    const isGitLab = targetOf(shared) === 'gitlab'
    const filesOn = (side: Side) =>
      new Set(
        isGitLab
          ? comparisonRows.recordsOf('attachments', side, result.left).map(({ digest }) => digest)
          : [],
      )
    const writtenOn = <K extends ComparedKind>(side: Side, kinds: readonly K[]) => {
      const texts = new Map<string, string[]>()
      if (!isGitLab) return texts
      for (const kind of kinds)
        for (const record of comparisonRows.recordsOf(kind, side, result.left)) {
          const { key, fields } = COMPARED_KINDS[kind](record, contexts[side])
          texts.set(key, [...(texts.get(key) ?? []), String(fields.body)])
        }
      return texts
    }
    this.#contexts = contexts
    this.#known = {
      isFinished,
      version,
      mapped: names.mapped,
      linked: names.linked,
      linkedByEmail: names.linkedByEmail,
      target: targetOf(shared),
      losses: {
        extra: lossesOf(shared.left, result.left),
        missing: 'records' in right ? lossesOf(right, result.right) : new Set(),
      },
      hasIssue: (number) => shared.targets.kindOf(result.right, number) !== undefined,
      pullHeads: new Set(
        comparisonRows.recordsOf('pull_requests', 'left', result.left).map(({ head }) => head.sha),
      ),
      lineComments: new Set(
        comparisonRows
          .recordsOf('pull_request_review_comments', 'left', result.left)
          .map((record) => COMPARED_KINDS.pull_request_review_comments(record, contexts.left).key),
      ),
      reviewHeadings: new Set(
        comparisonRows
          .recordsOf('pull_request_reviews', 'right', result.left)
          .map((record) => COMPARED_KINDS.pull_request_reviews(record, contexts.right))
          .map(({ key, fields }) => `${key} ${String(fields.body).split('\n')[0]}`),
      ),
      written: {
        left: writtenOn('left', ['pull_request_reviews', 'pull_request_review_comments']),
        right: writtenOn('right', ['issue_comments', 'pull_request_review_comments']),
      },
      files: { left: filesOn('left'), right: filesOn('right') },
      closings: new Set(
        isGitLab
          ? [
              ...comparisonRows.recordsOf('issues', 'left', result.left).flatMap(closings),
              ...comparisonRows.recordsOf('pull_requests', 'left', result.left).flatMap(closings),
            ]
          : [],
      ),
      isSameText: (left, right) => this.#isSameText(left, right),
    }
  }

  run(): ComparedRepository {
    for (const kind of Object.keys(COMPARED_KINDS) as ComparedKind[]) this.#compareKind(kind)
    return this.#result
  }

  #compareKind<K extends ComparedKind>(kind: K): void {
    for (const group of this.#shared.comparisonRows.groups(kind, this.#result.left)) {
      const [left, right] = SIDES.map((side) => {
        const items = group[side].map((record) =>
          COMPARED_KINDS[kind](record, this.#contexts[side]),
        )
        return Map.groupBy(items, ({ key }) => key)
      })
      for (const key of new Set([...left!.keys(), ...right!.keys()]))
        for (const pair of this.#pairs(left!.get(key) ?? [], right!.get(key) ?? []))
          this.#count(kind, ...pair)
    }
  }

  /** Pairs the items of one key: several comments may be from the same second. Equal ones are paired first, the others in their order. */
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

  #count(kind: ComparedKind, left?: Item, right?: Item): void {
    const difference = this.#differenceOf(kind, left, right)
    const { kinds, differences } = this.#result
    kinds[kind] ??= noCounts()
    const counts = kinds[kind]
    const outcome = difference?.outcome ?? 'equal'
    counts[outcome]++
    this.#shared.totals[outcome]++
    if (difference && counts[outcome] <= MAX_DIFFERENCES) differences.push(difference)
  }

  #differenceOf(kind: ComparedKind, left?: Item, right?: Item): Difference | undefined {
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
      fields: shown.map(({ field }) => {
        return { field, left: left.fields[field], right: right.fields[field] }
      }),
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

  /** Returns whether two texts differ at most in links that lead to the same page, and in characters that servers cannot store. */
  #isSameText(left: string, right: string): boolean {
    const [here, there] = [this.#plainText('left', left), this.#plainText('right', right)]
    if (here === there) return true
    const { right: host, left: archive, targets } = this.#shared
    if ('records' in host) return false
    const newName = this.#result.right
    const rewritten = ['/', `${host.url}/`].map((base) =>
      rewriteLinks(here, newName, { ...targets, base }),
    )
    const moved = here.replaceAll(archive.urlOf(this.#result.left), `${host.url}/${newName}`)
    return [...rewritten, moved].includes(there)
  }

  /** Replaces each link to an attachment by the digest of the file, and characters that servers change. */
  #plainText(side: Side, text: string): string {
    const { comparisonRows } = this.#shared
    return text
      .toWellFormed()
      .replaceAll('\u0000', '\ufffd')
      .replaceAll('\r\n', '\n')
      .replace(ATTACHMENT_LINK, (link, uuid: string) => {
        // Without `godwit finish`, a text still has the link of the old host.
        const digest = comparisonRows.uploadOf(side, uuid) ?? comparisonRows.uploadOf('left', uuid)
        return digest === undefined ? link : `attachment ${digest}`
      })
  }
}

/** The length before the path is limited because the time would be quadratic otherwise. */
const ATTACHMENT_LINK =
  /(?:https?:\/\/[^\s()<>"'\\]{0,300}?)?(?:\/[\w.-]+\/[\w.-]+)?\/(?:attachments|user-attachments\/(?:assets|files))\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])/gi

/** Returns the names of the events by which an issue or a pull request got its state. */
function closings(item: Pick<PullRequest, 'number' | 'closedAt'> & Partial<PullRequest>): string[] {
  const { number, closedAt, mergedAt } = item
  const at = seconds(mergedAt ?? closedAt)
  if (!at) return []
  return [`#${number} closed at ${at}`, ...(mergedAt ? [`#${number} merged at ${at}`] : [])]
}

function targetOf({ left, right }: Pick<CompareOptions, 'left' | 'right'>): KnownContext['target'] {
  if (!('records' in right)) return right.kind
  return right.isGitLabExport && !left.isGitLabExport ? 'gitlab' : 'archive'
}

/** Returns the kinds of which an archive says that it lacks some in this repository. */
const lossesOf = ({ summary }: FormatReader, fullName: string): ReadonlySet<string> =>
  new Set(
    summary.losses
      .filter(({ full_name }) => full_name === null || full_name === fullName)
      .map(({ kind }) => kind.toLowerCase()),
  )

/** Describes how `convert --to gitea-dump` rewrites the links of the archive. */
function targetsOf(
  { left }: CompareOptions,
  comparisonRows: ComparisonRows,
  names: Names,
): LinkTargets {
  const renames = left.fullNames.map((name) => ({ oldName: name, newName: names.onRight(name) }))
  return linkTargets(renames, left.urlOf, {
    // Links to attachments are compared by the digests of the files.
    attachments: new Map(),
    base: '/',
    kindOf(fullName, number) {
      const name = names.onLeft(fullName).toLowerCase()
      if (comparisonRows.rows.has(`issues ${name}`, number)) return 'issue'
      return comparisonRows.rows.has(`pull_requests ${name}`, number) ? 'pull_request' : undefined
    },
  })
}
