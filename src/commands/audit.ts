import { type Command, Option } from 'commander'
import { type AuditEntry, type AuditFilter, allAudit } from '../accounts/audit-log.ts'
import { auditActions } from '../lib/audit-actions.ts'
import { UsageError } from '../lib/user-error.ts'
import { duration } from '../settings/config-values.ts'
import { addCommandWithoutJson } from './command-line.ts'
import { formatTime, isoTime, type JsonOption, printJsonLine, printTable } from './print.ts'
import { withServiceDatabase } from './service-database.ts'
import { tableOf } from './table.ts'

type AuditOptions = AuditFilter & JsonOption

export function auditCommand(program: Command, about: string): void {
  const time = 'a duration before now, such as 7d, or a date'
  addCommandWithoutJson(program, 'audit', about, [
    'godwit audit --since 7d --actor alice',
    'godwit audit --since 2026-01-01 --action migration.start --json',
  ])
    .addOption(
      new Option('--since <time>', `first time to list: ${time}`)
        .argParser(parseTime)
        .default(Date.now() - duration('30d'), '30d'),
    )
    .option('--until <time>', `end of the time to list: ${time}`, parseTime)
    .option('--actor <login>', 'only actions of this account, or of "command line"')
    .addOption(new Option('--action <action>', 'only this action').choices(auditActions))
    .option('--subject <subject>', 'only this subject, such as "migration 7"')
    .option('--json', 'print each entry as JSON on one line')
    .action(({ json, ...filter }: AuditOptions, command: Command) =>
      withServiceDatabase(command, async (db) => {
        const listed: AuditEntry[] = []
        for await (const entries of allAudit(db, filter))
          for (const entry of entries)
            if (json) printJsonLine(entryJson(entry))
            else listed.push(entry)
        if (!json) printTable(entryRows(listed), 'no entries')
      }),
    )
}

function parseTime(text: string): number {
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return Date.parse(text)
  try {
    return Date.now() - duration(text)
  } catch {
    throw new UsageError(`'${text}' is not a duration such as 7d or a date such as 2026-01-31`)
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
