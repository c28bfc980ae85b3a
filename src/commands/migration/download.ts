import { resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { ArchiveDamaged } from '../../archive/unreadable-archive.ts'
import type { Target } from '../../client/download-archive.ts'
import { checkArchive, checkGzip, type Proof } from '../../importer/check-archive.ts'
import { inUnits } from '../../lib/quantities.ts'
import { UsageError, UserError } from '../../lib/user-error.ts'
import { isWritten } from '../../lib/write-chunk.ts'
import { addClientCommand, type ClientContext, tell, withClient } from '../client-command.ts'
import { addSetting, idArgument, note, print, withExamples } from '../command-line.ts'
import { progressLine } from '../progress-line.ts'
import { refuseExistingFile } from '../whole-file.ts'
import { printPartialExport } from './partial-export.ts'
import { ResumableFile } from './resumable-file.ts'

const STANDARD_OUTPUT = '-'

interface DownloadOptions {
  output?: string
  force?: boolean
  verify?: boolean
}

export function downloadCommand(migration: Command): void {
  const about = 'download the archive; an interrupted download is resumed'
  const command = addClientCommand(migration, 'download', about)
  command
    .argument(...idArgument('migration'))
    .option(
      '--output <FILE>',
      'file to write (default: migration-ID-LOGIN-DATE.tar.gz); - for standard output',
    )
    .option('--force', 'replace the file if it exists')
    .option('--verify', 'then check every repository with git, as `godwit verify` does')
  addSetting(command, 'git', 'Options:')
  withExamples(
    command,
    'godwit migration download 7',
    'godwit migration download 7 --output backup.tar.gz --verify',
    'godwit migration download 7 --output - | tar tz',
  )
  command.action(
    withClient(
      (talk, options: DownloadOptions, id: number) =>
        options.output === STANDARD_OUTPUT
          ? toStandardOutput(talk, id, options)
          : toFile(talk, id, options),
      'stopped; the downloaded part is kept, and the same command resumes it',
    ),
  )
}

async function toFile(
  talk: ClientContext,
  id: number,
  { output, force = false, verify }: DownloadOptions,
): Promise<void> {
  const name = output ?? (await talk.api.archiveName(id))
  const file = resolve(name)
  await refuseExistingFile(file, force)
  await using target = await ResumableFile.open(file)
  await fetchInto(talk, id, target).catch(async (error: unknown) => {
    const { RequestRejected } = await import('../../client/errors.ts')
    // What was sent of an archive that is damaged is of no use.
    if (error instanceof RequestRejected && error.status === 410) await target.discard()
    throw error
  })
  const proof = await proven(target.unfinished, talk.signal).catch(async (error: unknown) => {
    if (!(error instanceof ArchiveDamaged)) throw error
    await target.discard()
    throw new UserError(`${error.message}. The downloaded file was removed: download it again`, {
      cause: error,
    })
  })
  await target.finish(force)
  talk.ifStoppedNow(`stopped; ${name} is downloaded${verify ? ', and not verified' : ''}`)
  const bytes = target.position
  tell(
    talk,
    { id, file, bytes, checked_by: proof },
    `${name}: ${inUnits(bytes)}, ${PROOF_IN_WORDS[proof]}`,
  )
  const { git, searchPath } = talk.config
  if (verify) {
    const { verifyFile } = await import('../verify.ts')
    await verifyFile({ git, searchPath }, name, talk.signal, talk.isJson ? note : print)
    talk.ifStoppedNow(`stopped; ${name} is downloaded and verified`)
  }
  await printPartialExport(talk, id)
}

const PROOF_IN_WORDS: Record<Proof, string> = {
  digests: 'every repository matches its digest',
  gzip: 'the gzip checksum is correct',
}

async function proven(file: string, signal: AbortSignal): Promise<Proof> {
  using line = progressLine(process.stderr)
  line.show(undefined, 'checking the download')
  return checkArchive(file, signal)
}

async function fetchInto(
  { api, signal }: ClientContext,
  id: number,
  target: Target,
): Promise<void> {
  const { downloadArchive } = await import('../../client/download-archive.ts')
  using line = progressLine(process.stderr)
  if (target.position > 0) line.say(`resuming after ${inUnits(target.position)}`)
  let drawnAt = 0
  await downloadArchive(api, id, target, {
    signal,
    onBytes(position, total) {
      if (performance.now() - drawnAt < 100 && position !== total) return
      drawnAt = performance.now()
      const of = total === undefined ? '' : ` of ${inUnits(total)}`
      line.show(total && position / total, `${inUnits(position)}${of}`)
    },
    onError: (error, position) => line.say(`${error.message}; resuming after ${inUnits(position)}`),
  })
}

/** What was written cannot be taken back, so here the check only tells. */
async function toStandardOutput(
  talk: ClientContext,
  id: number,
  options: DownloadOptions,
): Promise<void> {
  if (process.stdout.isTTY)
    throw new UsageError('an archive cannot be written to a terminal: use --output FILE')
  if (options.verify) throw new UsageError('--verify needs a file: use --output FILE')
  if (talk.isJson)
    throw new UsageError('--json cannot be used when the archive goes to standard output')
  talk.ifStoppedNow('stopped; the output is not complete, and cannot be resumed')
  const flow = new PassThrough()
  const copy = new PassThrough()
  const checked = checkGzip(copy, talk.signal)
  // Damage is told at the end; until then the download goes on.
  checked.catch(() => {})
  const written = pipeline(flow, teeInto(copy), process.stdout, { signal: talk.signal, end: false })
  written.catch(() => {})
  await fetchInto(talk, id, passingTarget(flow, written))
  flow.end()
  await written
  await checked
  talk.ifStoppedNow('stopped; the output is complete')
  await printPartialExport(talk, id)
}

function teeInto(copy: PassThrough) {
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      await isWritten(copy, chunk)
      yield chunk
    }
    copy.end()
  }
}

/** Bytes that are gone once they are written; `written` fails when they can go nowhere. */
function passingTarget(flow: PassThrough, written: Promise<void>): Target {
  let position = 0
  let etag: string | undefined
  return {
    get position() {
      return position
    },
    get etag() {
      return etag
    },
    async begin(given) {
      if (position > 0)
        throw new UserError(
          'the download was interrupted and standard output cannot be resumed: use --output FILE',
        )
      etag = given
    },
    async write(bytes) {
      if (!(await isWritten(flow, bytes))) await written
      position += bytes.length
    },
  }
}
