import { chownSync, existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { makeDirectory } from '@godwit/lib/make-directory'
import { formatBytes, formatCount, formatDuration, formatNumber } from '@godwit/lib/quantities'
import { UsageError } from '@godwit/lib/user-error'
import { inAuditedTransaction, type RecordAudit } from '@godwit/server/accounts/audit-log'
import { removeCopyMarks } from '@godwit/server/db/copy-marks'
import type { Db } from '@godwit/server/db/database'
import {
  addressOf,
  type CopyProgress,
  type CopyReport,
  copyService,
  type DataSettings,
} from '@godwit/server/service/copy-service'
import { switchUserToOwnerOf } from '@godwit/server/service/data-owner'
import { openDatabase } from '@godwit/server/service/open-database'
import { type Command, Option } from 'commander'
import { bucketAddress, path, postgresAddress } from '../settings/config-values.ts'
import { addCommand, parsed, readServiceConfig } from './command-line.ts'
import { isoTime, print, printJson, printMessage, printResult, printTable } from './print.ts'
import { COMMAND_LINE } from './service-database.ts'
import { DATABASE } from './service-settings.ts'
import { stoppable } from './stop-signal.ts'
import { progressLine } from './terminal.ts'

interface CopyOptions {
  from?: string
  to?: string
  toDatabaseUrl?: string
  toBlobs?: string
  online?: boolean
  keepSource?: boolean
  verify?: 'full'
  unmarkSource?: boolean
  json?: boolean
}

export function copyCommand(program: Command, about: string): void {
  addCommand(
    program,
    'copy',
    about,
    [
      'godwit copy --to /var/backups/godwit --online       # a backup, while the service runs',
      'godwit copy --from /var/backups/godwit --to /var/lib/godwit --keep-source    # restore it',
      'godwit copy --to-database-url postgres://db/godwit --to-blobs s3://archives',
    ],
    DATABASE,
  )
    .usage('--to DIR | --to-database-url URL [--to-blobs s3://BUCKET] [settings]')
    .option(
      '--from <DIR>',
      'copy the service in this data directory, such as a backup, instead of that of the settings',
      parsed('--from', path),
    )
    .option(
      '--to <DIR>',
      'new data directory: for the archives, and for the database',
      parsed('--to', path),
    )
    .addOption(
      new Option(
        '--to-database-url <URL>',
        'new PostgreSQL; without --to and --to-blobs, the archives stay where they are',
      )
        .env('GODWIT_TO_DATABASE_URL')
        .argParser(parsed('--to-database-url', postgresAddress, { isSecret: true })),
    )
    .option(
      '--to-blobs <LOCATION>',
      'new location of the archives: s3://BUCKET/PREFIX or a data directory; without --to, the database stays where it is',
      parsed('--to-blobs', (text) => (isBucket(text) ? bucketAddress(text) : path(text))),
    )
    .option('--online', 'copy the state of one moment while the service runs; keeps the source')
    .option('--keep-source', 'do not mark the source as moved')
    .addOption(
      new Option('--verify <what>', 'full: read every archive again and compare digests').choices([
        'full',
      ]),
    )
    .option('--unmark-source', 'only make a service usable again that was marked as moved')
    .action(stoppable(run, 'stopped; run the same command again to continue'))
}

const isBucket = (place: string): boolean => place.startsWith('s3:')

async function run(signal: AbortSignal, options: CopyOptions, command: Command): Promise<void> {
  const { online: isOnline = false, keepSource = false, unmarkSource, verify } = options
  const hasTarget = (options.to ?? options.toDatabaseUrl ?? options.toBlobs) !== undefined
  if (unmarkSource && hasTarget)
    throw new UsageError('--unmark-source copies nothing: leave out the options that say where to')
  if (!unmarkSource && !hasTarget)
    throw new UsageError('say where to copy: --to DIR, --to-database-url URL or --to-blobs PLACE')
  const settings = readServiceConfig(command, DATABASE)
  const from = options.from === undefined ? settings : inDirectory(settings, options.from)
  for (const directory of [options.to, options.toBlobs])
    if (directory !== undefined && !isBucket(directory)) refuseInside(from.data, directory)
  prepareDirectories(options, from.data)
  switchUserToOwnerOf(from.data)
  if (unmarkSource) return unmark(from, options)
  const targets = targetsOf(options, from)
  let report: CopyReport
  {
    using line = progressLine()
    const actor = COMMAND_LINE
    const onProgress = progressReporter(line)
    const request = { from, ...targets, isOnline, keepSource, isFull: verify === 'full', actor }
    report = await copyService({ ...request, signal, onProgress })
  }
  if (options.json) printJson(reportJson(report))
  else printReport(report, addressOf(targets), isOnline)
  const damaged = report.blobs?.damaged ?? []
  if (damaged.length > 0)
    printMessage(
      `warning: ${formatCount(damaged.length, 'blob is', 'blobs are')} missing or damaged at the source too: \`godwit check --store\` lists the archives that contain them`,
    )
}

/** A copy there would be swept or deleted with the source, and a copy of the copy would follow. */
function refuseInside(data: string, directory: string): void {
  const path = relative(realPath(data), realPath(directory))
  const isOutside = path === '' || path === '..' || path.startsWith(`..${sep}`)
  if (!isOutside)
    throw new UsageError(`${directory} is inside the data directory of the source: choose another`)
}

/** Resolves the symbolic links of the part of a path that exists. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  return join(realPath(dirname(path)), basename(path))
}

/** Returns the settings of a service with everything in one data directory. */
const inDirectory = (settings: DataSettings, data: string): DataSettings => ({
  ...settings,
  data,
  databaseUrl: undefined,
  blobs: undefined,
})

/** Returns the settings of the target. The database and the archives may go to different places, and either may stay. */
function targetsOf({ to, toDatabaseUrl, toBlobs }: CopyOptions, from: DataSettings) {
  const directory = to === undefined ? undefined : inDirectory(from, to)
  const database = toDatabaseUrl === undefined ? directory : { ...from, databaseUrl: toDatabaseUrl }
  if (toBlobs === undefined) return { database, blobs: directory }
  const blobs = isBucket(toBlobs) ? { ...from, blobs: toBlobs } : inDirectory(from, toBlobs)
  return { database, blobs }
}

/** As root, creates missing directories for the owner of the source, because the command then runs as that user. */
function prepareDirectories({ to, toBlobs }: CopyOptions, data: string): void {
  const owner = statSync(data, { throwIfNoEntry: false })
  if (process.getuid?.() !== 0 || !owner) return
  for (const directory of [to, toBlobs]) {
    if (directory === undefined || isBucket(directory) || existsSync(directory)) continue
    // The parents get the usual permissions, so that this user can pass through them.
    makeDirectory(dirname(directory))
    makeDirectory(directory, 0o700)
    chownSync(directory, owner.uid, owner.gid)
  }
}

async function unmark(config: DataSettings, options: CopyOptions): Promise<void> {
  const { db, close } = await openDatabase(config, { mustExist: true, copiedAs: 'source' })
  const remove = async (tx: Db, record: RecordAudit) => {
    await removeCopyMarks(tx, 'source', 'blobs')
    await record(tx, 'service.unmark')
  }
  await inAuditedTransaction({ db, now: Date.now }, COMMAND_LINE, remove).finally(close)
  printResult(
    options,
    { source_moved: false },
    'this service can be used again: make sure that its copy is not used as well',
  )
}

const UPDATE_INTERVAL_MS = 200

/** Returns a function that shows the progress, and the time left at the rate of the current step so far. */
function progressReporter(line: ReturnType<typeof progressLine>) {
  let [step, startedAt, shownAt] = ['', 0, 0]
  return ({ done, total, found, ...progress }: CopyProgress): void => {
    const now = performance.now()
    if (step !== progress.step) [step, startedAt] = [progress.step, now]
    if (now - shownAt < UPDATE_INTERVAL_MS) return
    shownAt = now
    const format = step === 'tables' ? formatNumber : formatBytes
    const rate = (done - found) / (now - startedAt)
    const left = rate > 0 ? `, ${formatDuration((total - done) / rate / 1000)} left` : ''
    const fraction = total === 0 ? undefined : done / total
    line.update(fraction, `${step}: ${format(done)} of ${format(total)}${left}`)
  }
}

function printReport(report: CopyReport, address: string, isOnline: boolean): void {
  const { tables, blobs, unfinishedMigrations, asOf } = report
  const rows = tables
    .filter(({ rows }) => rows > 0)
    .map(({ table, rows, digest }) => [table, formatNumber(rows), digest.slice(0, 16)])
  if (blobs) {
    const { count, bytes, digest } = blobs
    const compared = digest?.slice(0, 16) ?? 'sizes compared'
    rows.push([`archives, ${formatBytes(bytes)}`, formatNumber(count), compared])
  }
  printTable([['COPIED', 'COUNT', 'DIGEST'], ...rows])
  const others = tables.length > 0 ? '; tables that are not listed are empty' : ''
  print(`copied to ${address}, and compared with the source${others}`)
  if (isOnline) print(`the copy has everything up to ${isoTime(asOf)}, and no later change`)
  if (unfinishedMigrations > 0)
    print(
      `${formatCount(unfinishedMigrations, 'migration is', 'migrations are')} unfinished, and will go on when a service starts there`,
    )
  if (report.isMoved)
    print('the source is marked as moved and stays as it is: delete it when you no longer need it')
}

const reportJson = ({ asOf, tables, blobs, unfinishedMigrations, isMoved }: CopyReport) => ({
  as_of: isoTime(asOf),
  tables,
  archives: blobs
    ? {
        count: blobs.count,
        bytes: blobs.bytes,
        digest: blobs.digest ?? null,
        damaged: blobs.damaged,
      }
    : null,
  unfinished_migrations: unfinishedMigrations,
  source_moved: isMoved,
})
