import { type Command, Option } from 'commander'
import { type AuditEntry, type AuditFilter, allAudit } from '../accounts/audit-log.ts'
import { auditActions } from '../lib/audit-actions.ts'
import { UsageError } from '../lib/user-error.ts'
import { duration } from '../settings/config-values.ts'
import { addCommand } from './command-line.ts'
import { formatTime, isoTime, type JsonOption, printJsonLine, printTable } from './print.ts'
import { withServiceDatabase } from './service-database.ts'

type AuditOptions = AuditFilter & JsonOption

export function auditCommand(program: Command, about: string): void {
  const time = 'a duration before now, such as 7d, or a date'
  addCommand(program, 'audit', about, [
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
        const rows: string[][] = []
        for await (const entries of allAudit(db, filter))
          for (const entry of entries)
            if (json) printJsonLine(entryJson(entry))
            else rows.push(entryRow(entry))
        if (!json) printTable([TITLES, ...rows], 'no entries')
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

const TITLES = ['TIME', 'ACTOR', 'ACTION', 'SUBJECT', 'OUTCOME', 'FROM']

const entryRow = ({ at, actor, token, action, subject, outcome, address }: AuditEntry) => [
  formatTime(at),
  token ? `${actor} (${token})` : actor,
  action,
  subject ?? '-',
  outcome,
  address ?? '-',
]
