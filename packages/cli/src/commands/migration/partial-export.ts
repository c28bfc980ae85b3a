import type { RepositoryProgressResponse, SummaryResponse } from '@godwit/contract/client/responses'
import { describeMissing, isPartial } from '@godwit/contract/schemas/describe-outcome'
import { escapeForTerminal, oneLine } from '@godwit/lib/terminal-text'
import { EXIT, UserError } from '@godwit/lib/user-error'
import type { ClientContext } from '../client-command.ts'

const MAX_NAMED = 20

/** Returns `9 of 10, 1 skipped`, or only the total if the export is complete. */
export function formatCounts(summary: SummaryResponse): string {
  const { total, exported } = summary.repositories
  return isPartial(summary)
    ? `${exported} of ${total}, ${describeMissing(summary.repositories)}`
    : String(total)
}

type Counts = SummaryResponse['repositories']

/** Throws an error that lists the repositories that are missing or incomplete, if there are any. `known` saves a request. */
export async function requireCompleteExport(client: ClientContext, id: number, known?: Counts) {
  const counts = known ?? (await countsOf(client, id))
  if (!counts || !isPartial({ state: 'exported', repositories: counts })) return
  const { total, exported } = counts
  const message = `migration ${id} is partly exported: ${exported} of ${total} repositories, ${describeMissing(counts)}`
  const lines = [message, ...(await describeProblems(client, id))]
  throw new UserError(lines.join('\n'), { exitCode: EXIT.partial })
}

/** Returns undefined if the export is complete, or if the server has no summaries. */
async function countsOf(client: ClientContext, id: number): Promise<Counts | undefined> {
  try {
    const summary = await client.api.summary(id)
    return summary && isPartial(summary) ? summary.repositories : undefined
  } catch (error) {
    const { message } = await asOutage(client, error)
    throw new UserError(
      `${message}; whether anything is missing is unknown: check with \`godwit migration show ${id}${client.api.orgFlag}\``,
      { cause: error, exitCode: EXIT.unreachable },
    )
  }
}

/** Lists what is missing, or returns why the server could not list it: the export is partial either way. */
async function describeProblems(client: ClientContext, id: number): Promise<string[]> {
  try {
    return formatProblems(await client.api.notCompletelyExported(id))
  } catch (error) {
    const { message } = await asOutage(client, error)
    return [`  ${message}; \`godwit migration show ${id}${client.api.orgFlag}\` lists them`]
  }
}

/** Returns an error of a server that is temporarily unavailable, and throws any other. */
async function asOutage({ api, signal }: ClientContext, error: unknown): Promise<Error> {
  signal.throwIfAborted()
  const { asTemporaryError } = await import('@godwit/contract/client/errors')
  const outage = asTemporaryError(error, api.server.url)
  if (!outage) throw error
  return outage
}

/** Lists repositories that were skipped or failed, or that lack LFS objects, each with the reason on one line. */
export function formatProblems(all: readonly RepositoryProgressResponse[]): string[] {
  const named = all.slice(0, MAX_NAMED)
  const more = all.length - named.length
  return [
    ...named.map(({ state, full_name, reason, warning }) => {
      const problem = reason ?? warning ?? ''
      return escapeForTerminal(
        `  ${typeof reason === 'string' ? state : 'incomplete'}: ${full_name}: ${oneLine(problem)}`,
      )
    }),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}
