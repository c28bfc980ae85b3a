import type { GitRepository } from '@godwit/git/commits-and-refs'
import { GitFailed } from '@godwit/git/git-process'
import type { Refs } from '@godwit/git/refs'
import type { Snapshot } from '@godwit/git/snapshot'
import { LimitedLines, type Loss, Losses } from '@godwit/lib/findings'
import type { RecordKind, RecordsByKind } from '../records/record-kinds.ts'
import type { ManifestLoss } from '../tar/manifest.ts'

/**
 * The content of one input, or of several that `mergeReaders` merged. It is unpacked in a work directory on the file system of the
 * output, so everything can be read repeatedly and files can be linked or moved. The format of an input is recognized by its content,
 * never by its name. A reader of one format and a writer of another have only the records of `records/` in common.
 */
export interface FormatReader {
  readonly summary: ContentSummary
  /** Whether it is a project export of GitLab, which lacks what GitLab does not record. */
  readonly isGitLabExport?: true
  /** `OWNER/NAME` of every repository with git data, in the order of `repositories`. */
  readonly fullNames: readonly string[]
  /** Returns the URL of a repository on its old host, without a trailing slash, or '' if it is not known. */
  urlOf(fullName: string): string
  /**
   * Verifies and yields each repository, one after another. A snapshot has the bare git directories of the repository and its wiki, and
   * the LFS objects in `examination.repository.lfsObjects`. It exists until the next one is requested; a writer may move or change it.
   */
  repositories(): AsyncIterable<RepositoryContent>
  /**
   * Yields the records of one kind, of all repositories, in the order of the input. Only one file or line is in memory at a time.
   * Invalid records, and times that cannot be parsed, are passed to the report while they are read. So read each kind only once, and
   * one kind at a time.
   */
  records<K extends RecordKind>(kind: K): AsyncIterable<RecordsByKind[K]>
  /**
   * Finds the file of an attachment or a release asset by the `file` and the `repository` of its record, and compares it with its digest,
   * if there is one. Repositories of different inputs can have different files at the same path.
   */
  findFile(path: string, repository: string): Promise<FoundFile | { missing: string }>
  /** Returns the issues and pull requests that had to get another number, such as `!3` that became `#13`. */
  renumbered?(): Iterable<{ repository: string; old: string; new: string }>
}

/** The base of URLs in content whose host is not known. No host can have this name. */
export const UNKNOWN_HOST = 'https://gitlab.invalid'

export interface ContentSummary {
  /** The program that made the input, such as `godwit 0.1.0` or `GitLab 13.5.0`. */
  madeBy: string
  /** ISO 8601, or null if it is not known. */
  madeAt: string | null
  /** What was lost before: when the input was made. Empty if it does not say so. */
  losses: readonly ManifestLoss[]
}

export type RepositoryContent = { fullName: string } & ({ errors: string[] } | VerifiedContent)

interface VerifiedContent {
  snapshot: Snapshot
  /** Returns lines about LFS objects that the input lacks. */
  missingLfs(): Promise<string[]>
  /** Whether it was packed again since it was exported, so that only its objects, refs and files could be compared. */
  isPackedAgain: boolean
}

export interface FoundFile {
  /** The absolute path on this machine. It may be linked or copied, and must not be changed. */
  file: string
  bytes: number
}

/**
 * The input of a writer. Everything that its format cannot represent is passed to `report`. `signal` aborts the conversion, and is the one
 * that `content` was opened with.
 */
export type Conversion = { content: FormatReader; report: Report; signal: AbortSignal }

/**
 * Writes the content in one format. Each writer is created with its own options, such as the output and a work directory on the same
 * file system, which the caller removes. The output is complete and durable, or absent.
 */
export interface FormatWriter {
  /** Whether the writer maps people itself. Otherwise the records have the new logins already. */
  readonly mapsPeople?: boolean
  /** Yields each repository once it is written, or with the errors that prevented it. */
  write(conversion: Conversion): AsyncIterable<Written>
}

export type Written = { fullName: string; errors: string[] }

/** Passes each verified repository to `write`. An error of git concerns one repository. Any other would occur for the next one too. */
export async function* writeRepositories(
  { content, signal }: Conversion,
  write: (fullName: string, verified: VerifiedContent) => Promise<void>,
): AsyncGenerator<Written> {
  for await (const each of content.repositories())
    if ('errors' in each) yield each
    else
      try {
        await write(each.fullName, each)
        yield { fullName: each.fullName, errors: [] }
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof GitFailed)) throw error
        yield { fullName: each.fullName, errors: [error.message] }
      }
}

/** Collects what a conversion loses, by kind, and warnings about single objects. */
export class Report {
  readonly #warnings: LimitedLines
  readonly #losses = new Losses()
  /** Lines for the user that are not about a loss, such as what to do next. */
  readonly notes: string[] = []
  /** What was lost when the inputs were made. */
  readonly earlierLosses: ManifestLoss[] = []

  /** Warnings of one kind are passed to `onWarning` only up to a limit; further ones are counted. */
  constructor(onWarning: (text: string) => void) {
    this.#warnings = new LimitedLines(({ text }) => onWarning(text))
  }

  warn(kind: string, text: string): void {
    this.#warnings.add(kind, text)
  }

  /** Counts objects of a kind, such as `reactions`, that the target cannot represent. */
  addLoss(kind: string, count = 1, example?: string): void {
    this.#losses.add(kind, count, ...(example === undefined ? [] : [example]))
  }

  /** Counts a record that cannot be used as lost, and warns about it. */
  addSkippedRecord(kind: string, why: string): void {
    this.warn(kind, `${why}; the record is skipped`)
    this.addLoss(kind, 1, why)
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
  report.addLoss('detached_heads', isLost ? 1 : 0, `${fullName}: ${head.oid}`)
}
