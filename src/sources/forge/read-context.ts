import { segment } from './forge-address.ts'
import type { ForgeVersion } from './forge-version.ts'
import type { KnownForge } from './known-forge.ts'
import type { People } from './people-facts.ts'

/** What every part of a reading needs to know. */
export interface ReadContext {
  forge: KnownForge
  owner: string
  name: string
  notes: Notes
  people: People
  signal: AbortSignal
}

export const repositoryPath = ({ owner, name }: { owner: string; name: string }): string =>
  `/repos/${segment(owner)}/${segment(name)}`

const TURNED_OFF = ' are turned off on the forge'
const UNTOLD =
  'the forge does not tell of reactions, edits of comments on lines and resolved threads'

/** Of a reading that took over what an earlier one had read. */
export const untold = (since: number): string =>
  `${UNTOLD}: changes after ${new Date(since).toISOString()} may be missing`

/** What a reading could not give, for the report: each once. */
export class Notes {
  readonly #sentences = new Set<string>()

  /** Of an earlier reading all is taken over but what every look says anew, as long as it is so. */
  constructor(earlier: readonly string[] = []) {
    for (const each of earlier)
      if (!each.endsWith(TURNED_OFF) && !each.startsWith(UNTOLD)) this.#sentences.add(each)
  }

  say(sentence: string): void {
    this.#sentences.add(sentence)
  }

  /** Things that an archive has no word for, or that are not for others to see. */
  leave(what: string): void {
    this.say(`left out: ${what}`)
  }

  /** They are still in the forge's database; what was kept of them stays. */
  turnedOff(what: string): void {
    this.say(`${what}${TURNED_OFF}`)
  }

  noTimeline({ kind, text }: ForgeVersion): void {
    this.say(
      `${kind} ${text} has no timeline of issues: events other than closed, merged and locked are missing, and who closed is unknown`,
    )
  }

  noIssueAssets({ kind, text }: ForgeVersion): void {
    this.say(
      `${kind} ${text} does not list attachments of issues: those that a text links to were read`,
    )
  }

  /** Whether a reading has said the same. How old it is it says by itself. */
  areAs(earlier: readonly string[]): boolean {
    const said = new Set(earlier.filter((each) => !each.startsWith(UNTOLD)))
    return this.#sentences.symmetricDifference(said).size === 0
  }

  all(): string[] {
    return [...this.#sentences].sort()
  }
}
