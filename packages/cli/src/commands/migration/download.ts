import { resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type CheckMethod, checkArchive, checkGzip } from '@godwit/archive/formats/compare-manifest'
import { ArchiveDamaged } from '@godwit/archive/tar/unreadable-archive'
import type { DownloadTarget } from '@godwit/contract/client/download-archive'
import { writeChunk } from '@godwit/lib/chunks'
import { formatBytes } from '@godwit/lib/quantities'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { refuseExistingFile } from '../atomic-file.ts'
import { type ClientCommands, type ClientContext, withClient } from '../client-command.ts'
import { addSetting } from '../command-line.ts'
import { print, printMessage, printResult } from '../print.ts'
import { progressLine } from '../terminal.ts'
import { requireCompleteExport } from './partial-export.ts'
import { ResumableFile } from './resumable-file.ts'

const STANDARD_OUTPUT = '-'

type Options = { output?: string; force?: boolean; verify?: boolean }

export function downloadCommand({ addWithId }: ClientCommands): void {
  const command = addWithId(
    'download',
    'download the archive; an interrupted download is resumed',
    [
      'godwit migration download 7',
      'godwit migration download 7 --output backup.tar.gz --verify',
      'godwit migration download 7 --output - | tar tz',
    ],
  )
    .option(
      '--output <FILE>',
      'file to write (default: migration-ID-LOGIN-DATE.tar.gz); - for standard output',
    )
    .option('--force', 'replace the file if it exists')
    .option('--verify', 'then check every repository with git, as `godwit verify` does')
  addSetting(command, 'git', 'Options:').action(
    withClient(
      (client, options: Options, id: number) =>
        options.output === STANDARD_OUTPUT
          ? toStandardOutput(client, id, options)
          : toFile(client, id, options),
      'stopped; the downloaded part is kept, and the same command resumes it',
    ),
  )
}

async function toFile(
  client: ClientContext,
  id: number,
  { output, force = false, verify }: Options,
): Promise<void> {
  const name = output ?? (await client.api.archiveName(id))
  const file = resolve(name)
  await refuseExistingFile(file, force)
  await using target = await ResumableFile.open(file)
  await fetchInto(client, id, target).catch(async (error: unknown) => {
    const { RequestRejected } = await import('@godwit/contract/client/errors')
    // The server found the archive damaged, so the downloaded part is useless.
    if (error instanceof RequestRejected && error.status === 410) await target.discard()
    throw error
  })
  const proof = await checkDownload(target.unfinished, client.signal).catch(
    async (error: unknown) => {
      if (!(error instanceof ArchiveDamaged)) throw error
      await target.discard()
      throw new UserError(`${error.message}. The downloaded file was removed: download it again`, {
        cause: error,
      })
    },
  )
  await target.finish(force)
  client.setStopMessage(`stopped; ${name} is downloaded${verify ? ', and not verified' : ''}`)
  const bytes = target.position
  printResult(
    client,
    { id, file, bytes, checked_by: proof },
    `${name}: ${formatBytes(bytes)}, ${PROOF_TEXTS[proof]}`,
  )
  const { git, searchPath } = client.config
  if (verify) {
    const { formatFinding, verifyFile } = await import('../verify.ts')
    const printLine = client.json ? printMessage : print
    await verifyFile({ git, searchPath }, name, client.signal, (...finding) =>
      printLine(formatFinding(...finding)),
    )
    client.setStopMessage(`stopped; ${name} is downloaded and verified`)
  }
  await requireCompleteExport(client, id)
}

const PROOF_TEXTS: Record<CheckMethod, string> = {
  digests: 'every repository matches its digest',
  gzip: 'the gzip checksum is correct',
}

async function checkDownload(file: string, signal: AbortSignal): Promise<CheckMethod> {
  using line = progressLine()
  line.update(undefined, 'checking the download')
  return checkArchive(file, signal)
}

async function fetchInto({ api, signal }: ClientContext, id: number, target: DownloadTarget) {
  const { downloadArchive } = await import('@godwit/contract/client/download-archive')
  using line = progressLine()
  if (target.position > 0) line.print(`resuming after ${formatBytes(target.position)}`)
  let drawnAt = 0
  let lastError = ''
  await downloadArchive(api, id, target, {
    signal,
    onBytes(position, total) {
      if (performance.now() - drawnAt < 100 && position !== total) return
      drawnAt = performance.now()
      const of = total === undefined ? '' : ` of ${formatBytes(total)}`
      line.update(total && position / total, `${formatBytes(position)}${of}`)
    },
    onError({ message }, position) {
      const next = position > 0 ? `resuming after ${formatBytes(position)}` : 'starting again'
      const text = `${message}; ${next}`
      // A reason that stays the same is printed once.
      if (text !== lastError) line.print(text)
      lastError = text
    },
  })
}

/** Checks the archive while it is written: damage is reported, but the bytes are already written. */
async function toStandardOutput(client: ClientContext, id: number, options: Options) {
  if (process.stdout.isTTY)
    throw new UsageError('an archive cannot be written to a terminal: use --output FILE')
  if (options.verify) throw new UsageError('--verify needs a file: use --output FILE')
  if (client.json)
    throw new UsageError('--json cannot be used when the archive goes to standard output')
  client.setStopMessage('stopped; the output is not complete, and cannot be resumed')
  const input = new PassThrough()
  const copy = new PassThrough()
  const checked = checkGzip(copy, client.signal)
  // The result of the check is awaited after the download.
  checked.catch(() => {})
  const piping = { signal: client.signal, end: false }
  const written = pipeline(input, process.stdout, piping)
  written.catch(() => {})
  await fetchInto(client, id, streamTarget(input, copy, written))
  input.end()
  copy.end()
  await written
  await checked
  client.setStopMessage('stopped; the output is complete')
  await requireCompleteExport(client, id)
}

/** A target that cannot be rewound. `written` rejects when standard output fails. */
function streamTarget(input: PassThrough, copy: PassThrough, written: Promise<void>) {
  const target = {
    position: 0,
    etag: undefined as string | undefined,
    async begin(etag: string | undefined) {
      if (target.position > 0)
        throw new UserError(
          'the download was interrupted and standard output cannot be resumed: use --output FILE',
        )
      target.etag = etag
    },
    async write(bytes: Uint8Array) {
      await writeChunk(copy, bytes)
      if (!(await writeChunk(input, bytes))) await written
      target.position += bytes.length
    },
  }
  return target
}
