import type { RepositoryProgressJson, SummaryJson } from '../../client/wire.ts'
import { EXIT } from '../../ground/exit-codes.ts'
import { isPartial } from '../../ground/is-partial.ts'
import { harmless } from '../../ground/terminal-text.ts'
import { UserMistake } from '../../ground/user-mistake.ts'
import { sameFlags, type Talk } from '../client-command.ts'
import { note } from '../command-line.ts'

/** An archive is there, and lacks some of what was asked for. */
class PartialExport extends UserMistake {
  override readonly exitCode: number = EXIT.partial
}

const MAX_NAMED = 20

/** `9 of 10, 1 skipped`; of a whole one only how many. */
export function countsInWords(summary: SummaryJson): string {
  const { total, exported, skipped } = summary.repositories
  return isPartial(summary) ? `${exported} of ${total}, ${skipped} skipped` : String(total)
}

/** The last word on an archive that lacks something: what it lacks, and why. Nothing where it is whole. */
export async function tellPartial(talk: Talk, id: number): Promise<void> {
  try {
    await refusePartial(talk, id)
  } catch (error) {
    talk.signal.throwIfAborted()
    const { asTemporaryError } = await import('../../client/errors.ts')
    const outage = asTemporaryError(error, talk.api.server.url)
    if (!outage) throw error
    // What was asked for is done.
    note(
      `${outage.message}; whether repositories were skipped is unknown: check with \`godwit migration show ${id}${sameFlags(talk)}\``,
    )
  }
}

async function refusePartial({ api }: Talk, id: number): Promise<void> {
  const summary = await api.summary(id)
  if (!summary || !isPartial(summary)) return
  const lines = namedInWords(await api.notExported(id))
  const { total, exported, skipped } = summary.repositories
  throw new PartialExport(
    [
      `migration ${id} is exported in part: ${exported} of ${total} repositories, ${skipped} skipped`,
      ...lines,
    ].join('\n'),
  )
}

export function namedInWords(skipped: readonly RepositoryProgressJson[]): string[] {
  const named = skipped.slice(0, MAX_NAMED)
  const more = skipped.length - named.length
  return [
    ...named.map(({ full_name, reason }) => `  skipped: ${harmless(`${full_name}: ${reason}`)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}
