import { readdirSync } from 'node:fs'
import { runTool, type Tool } from './archive-tools.ts'

export interface ArchiveWriter {
  tool: Tool
  /** Whether the format can hold a path of any length. */
  hasLongPaths: boolean
  /** Packs the content of the folder. */
  write(folder: string, archive: string): Promise<unknown>
}

const PYTHON = `
import sys, tarfile
folder, archive, form, compression = sys.argv[1:]
with tarfile.open(archive, 'w' + compression, format=getattr(tarfile, form + '_FORMAT')) as tar:
    tar.add(folder, arcname='.')
`

/** Writes the files in reverse order, and only the directories that are empty. */
const PYTHON_FILES_ONLY = `
import os, sys, tarfile
folder, archive = sys.argv[1:]
found = []
for here, folders, files in os.walk(folder):
    found += [os.path.join(here, name) for name in files]
    if not folders and not files: found.append(here)
with tarfile.open(archive, 'w:gz', format=tarfile.PAX_FORMAT) as tar:
    for path in sorted(found, reverse=True):
        tar.add(path, arcname=os.path.relpath(path, folder), recursive=False)
`

const writeWithGnuTar =
  (...options: string[]): ArchiveWriter['write'] =>
  (folder, archive) =>
    runTool('GNU tar', [...options, '-cf', archive, '-C', folder, '.'])

const writeWithBsdtar =
  (...options: string[]): ArchiveWriter['write'] =>
  (folder, archive) =>
    runTool('bsdtar', [...options, '-cf', archive, '-C', folder, ...readdirSync(folder)])

const writeWithPython =
  (form: string, compression: string): ArchiveWriter['write'] =>
  (folder, archive) =>
    runTool('Python', ['-c', PYTHON, folder, archive, form, compression])

/** Independent programs with the tar formats that they write. */
export const ARCHIVE_WRITERS: Readonly<Record<string, ArchiveWriter>> = {
  'GNU tar, gnu': {
    tool: 'GNU tar',
    hasLongPaths: true,
    write: writeWithGnuTar('-z', '--format=gnu'),
  },
  'GNU tar, pax': {
    tool: 'GNU tar',
    hasLongPaths: true,
    write: writeWithGnuTar('-z', '--format=posix'),
  },
  'GNU tar, v7, not compressed': {
    tool: 'GNU tar',
    hasLongPaths: false,
    write: writeWithGnuTar('--format=v7'),
  },
  'GNU tar, with a label, large blocks': {
    tool: 'GNU tar',
    hasLongPaths: true,
    write: writeWithGnuTar('-z', '--label=backup', '--blocking-factor=200'),
  },
  'bsdtar, pax': {
    tool: 'bsdtar',
    hasLongPaths: true,
    write: writeWithBsdtar('-z', '--format=pax'),
  },
  'bsdtar, ustar': {
    tool: 'bsdtar',
    hasLongPaths: false,
    write: writeWithBsdtar('-z', '--format=ustar'),
  },
  'bsdtar, gnutar, not compressed': {
    tool: 'bsdtar',
    hasLongPaths: true,
    write: writeWithBsdtar('--format=gnutar'),
  },
  'Python, ustar': { tool: 'Python', hasLongPaths: false, write: writeWithPython('USTAR', ':gz') },
  'Python, gnu': { tool: 'Python', hasLongPaths: true, write: writeWithPython('GNU', ':gz') },
  'Python, pax, not compressed': {
    tool: 'Python',
    hasLongPaths: true,
    write: writeWithPython('PAX', ':'),
  },
  busybox: {
    tool: 'busybox',
    hasLongPaths: true,
    write: (folder, archive) => runTool('busybox', ['tar', '-czf', archive, '-C', folder, '.']),
  },
}

/** Packs files without their parent directories, in reverse order. */
export const packFilesOnly: ArchiveWriter['write'] = (folder, archive) =>
  runTool('Python', ['-c', PYTHON_FILES_ONLY, folder, archive])
