import type { RepositoryProgressResponse, SummaryResponse } from '../../client/responses.ts'
import { EXIT } from '../../lib/exit-codes.ts'
import { isPartial } from '../../lib/is-partial.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { UserError } from '../../lib/user-error.ts'
import { type ClientContext, sameOrgFlag } from '../client-command.ts'

/** An archive is there, and lacks some of what was asked for. */
class PartialExport extends UserError {
  override readonly exitCode: number = EXIT.partial
}

/** An archive is there, and the server did not say whether it lacks something. */
class PerhapsPartial extends UserError {
  override readonly exitCode: number = EXIT.unreachable
}

const MAX_NAMED = 20

/** `9 of 10, 1 skipped`; of a whole one only how many. */
export function formatCounts(summary: SummaryResponse): string {
  const { total, exported, skipped } = summary.repositories
  return isPartial(summary) ? `${exported} of ${total}, ${skipped} skipped` : String(total)
}

/** How many of the repositories that were asked for are in an archive. */
interface Counts {
  total: number
  exported: number
  skipped: number
}

/** The last word on an archive that lacks something: what it lacks, and why. Nothing where it is whole. */
export async function printPartialExport(
  talk: ClientContext,
  id: number,
  known?: Counts,
): Promise<void> {
  const counts = known ?? (await countsOf(talk, id))
  if (!counts || counts.skipped === 0) return
  const { total, exported, skipped } = counts
  const words = `migration ${id} is exported in part: ${exported} of ${total} repositories, ${skipped} skipped`
  throw new PartialExport([words, ...(await skippedInWords(talk, id))].join('\n'))
}

/** Undefined where the archive is whole, or the server does not count. */
async function countsOf(talk: ClientContext, id: number): Promise<Counts | undefined> {
  try {
    const summary = await talk.api.summary(id)
    return summary && isPartial(summary) ? summary.repositories : undefined
  } catch (error) {
    const { message } = await asOutage(talk, error)
    throw new PerhapsPartial(
      `${message}; whether repositories were skipped is unknown: check with \`godwit migration show ${id}${sameOrgFlag(talk)}\``,
      { cause: error },
    )
  }
}

/** That some were skipped is known, and is told also where nobody answers which. */
async function skippedInWords(talk: ClientContext, id: number): Promise<string[]> {
  try {
    return formatNames(await talk.api.notExported(id))
  } catch (error) {
    const { message } = await asOutage(talk, error)
    return [`  ${message}; \`godwit migration show ${id}${sameOrgFlag(talk)}\` lists them`]
  }
}

/** Throws what will not pass by itself. */
async function asOutage({ api, signal }: ClientContext, error: unknown): Promise<Error> {
  signal.throwIfAborted()
  const { asTemporaryError } = await import('../../client/errors.ts')
  const outage = asTemporaryError(error, api.server.url)
  if (!outage) throw error
  return outage
}

export function formatNames(skipped: readonly RepositoryProgressResponse[]): string[] {
  const named = skipped.slice(0, MAX_NAMED)
  const more = skipped.length - named.length
  return [
    ...named.map(
      ({ full_name, reason }) => `  skipped: ${escapeForTerminal(`${full_name}: ${reason}`)}`,
    ),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}
