import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ArchivePlan } from '@godwit/archive/tar/plan-archive'
import { onChunk } from '@godwit/lib/chunks'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { makeDirectory } from '@godwit/lib/make-directory'
import { UsageError } from '@godwit/lib/user-error'
import {
  type ArchiveDependencies,
  type ArchiveOptions,
  archiveBytes,
  exportArchive,
  exportSeparately,
} from '@godwit/server/exporter/export-archive'
import {
  fullNameOf,
  type RepositoryMetadata,
} from '@godwit/server/repositories/repository-metadata'
import { refuseExistingFile, requireWritableDirectory, writeFileAtomically } from './atomic-file.ts'

export interface WrittenArchive {
  bytes: number
  /** With --one-archive-per-repository: the repository, and the file relative to --output. */
  repository?: { fullName: string; file: string }
}

export interface OutputOptions {
  output: string
  force?: boolean
  oneArchivePerRepository?: boolean
}

interface WriteOptions {
  /** Called with the number of bytes of the current archive so far. */
  onBytes(written: number): void
  signal: AbortSignal
}

/** Returns the destination of the archives. It is checked before the export, and written only after it has succeeded. */
export async function chooseOutput(options: OutputOptions) {
  const { output, force = false, oneArchivePerRepository: isSeparate = false } = options
  const isStandardOutput = output === '-'
  if (isStandardOutput && isSeparate)
    throw new UsageError('--one-archive-per-repository writes many files: use --output DIR')
  if (isStandardOutput && process.stdout.isTTY)
    throw new UsageError('an archive cannot be written to a terminal: use --output FILE')
  const path = resolve(output)
  const folder = isSeparate && existsSync(path) ? path : dirname(path)
  if (isSeparate) await requireWritableDirectory(folder, path)
  else if (!isStandardOutput) await refuseExistingFile(path, force)
  const fileOf = (metadata: RepositoryMetadata) => join(path, `${fullNameOf(metadata)}.tar.gz`)

  async function writeArchive(
    file: string,
    plan: ArchivePlan,
    dependencies: ArchiveDependencies,
    { onBytes, signal }: WriteOptions,
  ): Promise<void> {
    let written = 0
    const bytes = onChunk(archiveBytes(dependencies, plan, signal), (chunk) => {
      written += chunk.length
      onBytes(written)
    })
    const { length } = plan
    if (!isStandardOutput) return writeFileAtomically(file, bytes, { force, signal, length })
    const write = () => pipeline(bytes, process.stdout, { signal, end: false })
    await withWriteContext('standard output', write, length)
  }

  return {
    /** A directory on the filesystem of the output, for temporary files. */
    nearby: isStandardOutput ? tmpdir() : folder,

    async refuseExisting(repositories: readonly RepositoryMetadata[]): Promise<void> {
      for (const file of isSeparate ? repositories.map(fileOf) : [])
        if (existsSync(dirname(file))) await refuseExistingFile(file, force)
    },

    /** Writes all repositories to one archive, or each to OWNER/NAME.tar.gz. */
    async write(
      dependencies: ArchiveDependencies,
      order: ArchiveOptions,
      writeOptions: WriteOptions,
    ) {
      if (!isSeparate) {
        await using archive = await exportArchive(dependencies, order, writeOptions.signal)
        await writeArchive(path, archive.plan, dependencies, writeOptions)
        return [{ bytes: archive.plan.length }]
      }
      const written: WrittenArchive[] = []
      for await (const each of exportSeparately(dependencies, order, writeOptions.signal)) {
        await using archive = each
        const { plan, metadata } = archive
        const file = fileOf(metadata)
        makeDirectory(dirname(file))
        await writeArchive(file, plan, dependencies, writeOptions)
        const repository = { fullName: fullNameOf(metadata), file: relative(path, file) }
        written.push({ bytes: plan.length, repository })
      }
      return written
    },
  }
}
