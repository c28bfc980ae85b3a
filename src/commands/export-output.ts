import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ArchivePlan } from '../archive/plan-archive.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import {
  type ArchiveOptions,
  type ArchiveParts,
  archiveBytes,
  exportArchive,
  exportSeparately,
} from '../exporter/export-archive.ts'
import { onChunk } from '../lib/chunks.ts'
import { withWriteContext } from '../lib/disk-errors.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { UsageError } from '../lib/user-error.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { refuseExistingFile, requireWritableDirectory, writeFileAtomically } from './atomic-file.ts'

/** An archive that was written. */
export interface WrittenArchive {
  bytes: number
  /** With --one-archive-per-repository: the repository, and the file relative to --output. */
  repository?: { fullName: string; file: string }
}

interface WriteOptions {
  force: boolean
  onBytes(written: number): void
  signal: AbortSignal
}

/** The destination of the archives. It is checked before the export, and written only after it has succeeded. */
interface ExportOutput {
  /** A directory on the filesystem of the output, for temporary files. */
  nearby: string
  refuseExisting(repositories: readonly RepositoryFacts[]): Promise<void>
  write(
    parts: ArchiveParts,
    order: ArchiveOptions,
    options: WriteOptions,
  ): Promise<WrittenArchive[]>
}

export interface OutputOptions {
  output: string
  force?: boolean
  oneArchivePerRepository?: boolean
}

export async function chooseOutput(options: OutputOptions): Promise<ExportOutput> {
  const { output, force = false, oneArchivePerRepository = false } = options
  const isStandardOutput = output === '-'
  if (isStandardOutput && oneArchivePerRepository)
    throw new UsageError('--one-archive-per-repository writes many files: use --output DIR')
  if (isStandardOutput) return toStandardOutput()
  const path = resolve(output)
  if (oneArchivePerRepository) return toDirectory(path, force)
  await refuseExistingFile(path, force)
  return oneArchive(dirname(path), (bytes, writeOptions) =>
    writeFileAtomically(path, bytes, writeOptions),
  )
}

function toStandardOutput(): ExportOutput {
  if (process.stdout.isTTY)
    throw new UsageError('an archive cannot be written to a terminal: use --output FILE')
  return oneArchive(tmpdir(), (bytes, { signal, length }) => {
    const write = () => pipeline(bytes, process.stdout, { signal, end: false })
    return withWriteContext('standard output', write, length)
  })
}

/** Writes all repositories to one archive, with `writeBytes`. */
function oneArchive(
  nearby: string,
  writeBytes: (bytes: Bytes, options: WriteOptions & { length: number }) => Promise<void>,
): ExportOutput {
  return {
    nearby,
    refuseExisting: async () => {},
    async write(parts, order, options) {
      await using archive = await exportArchive(parts, order, options.signal)
      const { length } = archive.plan
      await writeBytes(countedBytes(archive.plan, parts, options), { ...options, length })
      return [{ bytes: length }]
    },
  }
}

/** Writes each archive to OWNER/NAME.tar.gz. */
async function toDirectory(directory: string, force: boolean): Promise<ExportOutput> {
  const fileOf = (facts: RepositoryFacts) => join(directory, `${fullNameOf(facts)}.tar.gz`)
  const nearby = existsSync(directory) ? directory : dirname(directory)
  await requireWritableDirectory(nearby, directory)
  return {
    nearby,
    async refuseExisting(repositories) {
      for (const file of repositories.map(fileOf))
        if (existsSync(dirname(file))) await refuseExistingFile(file, force)
    },
    async write(parts, order, options) {
      const written: WrittenArchive[] = []
      for await (const each of exportSeparately(parts, order, options.signal)) {
        await using archive = each
        const { plan, facts } = archive
        const file = fileOf(facts)
        makeDirectory(dirname(file))
        const bytes = countedBytes(plan, parts, options)
        await writeFileAtomically(file, bytes, { ...options, length: plan.length })
        const repository = { fullName: fullNameOf(facts), file: relative(directory, file) }
        written.push({ bytes: plan.length, repository })
      }
      return written
    },
  }
}

/** Returns the bytes of an archive, and calls `onBytes` with the number of bytes so far. */
function countedBytes(plan: ArchivePlan, parts: ArchiveParts, { onBytes, signal }: WriteOptions) {
  let written = 0
  return onChunk(archiveBytes(parts, plan, signal), ({ length }) => {
    written += length
    onBytes(written)
  })
}
