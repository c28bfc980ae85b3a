import { auditActions } from '@godwit/contract/schemas/audit-actions'
import { parseTime } from '@godwit/lib/parse-time'
import { UsageError } from '@godwit/lib/user-error'
import { type AuditEntry, type AuditFilter, allAudit } from '@godwit/server/accounts/audit-log'
import { type Command, Option } from 'commander'
import { duration } from '../settings/config-values.ts'
import { addCommandWithoutJson } from './command-line.ts'
import { formatTime, isoTime, type JsonOption, printJsonLine, printTable } from './print.ts'
import { withServiceDatabase } from './service-database.ts'
import { DATABASE } from './service-settings.ts'
import { tableOf } from './table.ts'

type AuditOptions = AuditFilter & JsonOption

export function auditCommand(program: Command, about: string): void {
  const time = 'a duration before now, such as 7d, or a date'
  addCommandWithoutJson(
    program,
    'audit',
    about,
    [
      'godwit audit --since 7d --actor alice',
      'godwit audit --since 2026-01-01 --action migration.start --json',
    ],
    DATABASE,
  )
    .addOption(
      new Option('--since <time>', `first time to list: ${time}`)
        .argParser(parseTimeOrAge)
        .default(Date.now() - duration('30d'), '30d'),
    )
    .option('--until <time>', `end of the time to list: ${time}`, parseTimeOrAge)
    .option('--actor <login>', 'only actions of this account, or of "command line"')
    .addOption(new Option('--action <action>', 'only this action').choices(auditActions))
    .option('--subject <subject>', 'only this subject, such as "migration 7"')
    .option('--json', 'print each entry as JSON on one line')
    .action(({ json, ...filter }: AuditOptions, command: Command) => {
      if (filter.until !== undefined && filter.until < (filter.since ?? 0))
        throw new UsageError(
          '--until is before --since (30d by default), so there can be no entries',
        )
      return withServiceDatabase(command, async (db) => {
        const listed: AuditEntry[] = []
        for await (const entries of allAudit(db, filter))
          for (const entry of entries)
            if (json) printJsonLine(entryJson(entry))
            else listed.push(entry)
        if (!json) printTable(entryRows(listed), 'no entries')
      })
    })
}

function parseTimeOrAge(text: string): number {
  try {
    return parseTime(text, { isStrict: true }) ?? Date.now() - duration(text)
  } catch {
    throw new UsageError(
      `'${text}' is not a duration such as 7d, a date such as 2026-01-31, or a time such as 2026-01-31T18:00:00Z`,
    )
  }
}

const entryJson = ({ actorId, id, at, ...entry }: AuditEntry) => ({ id, at: isoTime(at), ...entry })

const entryRows = (entries: readonly AuditEntry[]) =>
  tableOf(entries, {
    TIME: ({ at }) => formatTime(at),
    ACTOR: ({ actor, token }) => (token ? `${actor} (${token})` : actor),
    ACTION: ({ action }) => action,
    SUBJECT: ({ subject }) => subject,
    OUTCOME: ({ outcome }) => outcome,
    FROM: ({ address }) => address,
  })
