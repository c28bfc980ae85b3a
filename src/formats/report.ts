import type { ManifestLoss } from '../archive/manifest.ts'
import type { GitRepository } from '../git/commits-and-refs.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import { type Loss, Losses } from '../lib/losses.ts'
import type { Refs } from '../sources/refs.ts'

/** Collects what a conversion loses, by kind, and warnings about single objects. */
export class Report {
  readonly #warnings: LimitedLines
  readonly #losses = new Losses()
  /** Lines for the user that are not about a loss, such as what to do next. */
  readonly notes: string[] = []
  /** What was lost when the inputs were made. */
  readonly lostBefore: ManifestLoss[] = []

  /** Warnings of one kind are passed to `onWarning` only up to a limit; further ones are counted. */
  constructor(onWarning: (text: string) => void) {
    this.#warnings = new LimitedLines(({ text }) => onWarning(text))
  }

  warn(kind: string, text: string): void {
    this.#warnings.add(kind, text)
  }

  /** Counts objects of a kind, such as `reactions`, that the target cannot represent. */
  lost(kind: string, count = 1, example?: string): void {
    this.#losses.add(kind, count, ...(example === undefined ? [] : [example]))
  }

  /** Counts a record that cannot be used as lost, and warns about it. */
  lostRecord(kind: string, why: string): void {
    this.warn(kind, `${why}; the record is skipped`)
    this.lost(kind, 1, why)
  }

  /** Returns what was lost so far, sorted by kind. */
  losses(): Loss[] {
    return this.#losses.all()
  }

  /** Ends the warnings with how many were left out, and returns the losses. */
  end(): Loss[] {
    this.#warnings.end()
    return this.losses()
  }
}

/** Reports a detached HEAD whose commits no ref reaches: the servers set HEAD to a branch, and then remove these commits. */
export async function reportDetachedHead(
  { git, ...call }: GitRepository,
  head: Refs['head'],
  { report, fullName }: { report: Report; fullName: string },
) {
  if (!('oid' in head)) return
  const args = ['rev-list', '--max-count=1', head.oid, '--not', '--glob=refs/*']
  const isLost = (await git.text(args, call)) !== ''
  report.lost('detached_heads', isLost ? 1 : 0, `${fullName}: ${head.oid}`)
}
