import type { Command } from 'commander'
import type { RetryForecastJson } from '../client/wire.ts'
import { harmless } from '../ground/terminal-text.ts'
import { addClientCommand, migrationId, talking, tell } from './client-command.ts'
import { note, withExamples } from './command-line.ts'

export function retryCommand(migration: Command): void {
  const about =
    'start a finished migration again as a new one; unchanged repositories are reused (Godwit only)'
  const command = addClientCommand(migration, 'retry', about)
  withExamples(command, 'godwit migration retry 7', 'godwit migration retry 7 --allow-partial')
  command
    .argument('<id>', 'ID of the migration', migrationId)
    .option('--allow-partial', 'skip repositories that still cannot be exported')
    .action(
      talking(async (talk, { allowPartial }: { allowPartial?: boolean }, id: number) => {
        const forecast = await talk.api.retryForecast(id)
        const lines = forecast ? inWords(id, forecast, allowPartial ?? false) : []
        for (const line of lines) note(line)
        const retried = await talk.api.retry(id, allowPartial ? { allow_partial: true } : {})
        tell(talk, retried, String(retried.id))
      }),
    )
}

/** What is known before it starts: what was broken, and whether anything of it is another now. */
function inWords(
  id: number,
  { broken, unchanged }: RetryForecastJson,
  isPartial: boolean,
): string[] {
  const what = (changed: boolean | null) =>
    changed === null ? '' : changed ? '; it has changed since' : '; it has not changed since'
  const lines = broken.map(
    ({ full_name, reason, changed }) =>
      `${isPartial ? 'skipped if still broken' : 'broken'}: ${harmless(`${full_name}: ${reason}`)}${what(changed)}`,
  )
  if (isPartial || !unchanged) return lines
  return [
    ...lines,
    `nothing has changed since migration ${id}: a retry will end in the same way; --allow-partial skips ${broken.length === 1 ? 'this repository' : 'these repositories'}`,
  ]
}
