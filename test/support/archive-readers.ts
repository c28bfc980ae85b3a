import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { runTool, type Tool } from './archive-tools.ts'

/** Paths with the SHA-256 of their content; the path of a directory ends in a slash. */
export type Contents = Record<string, string>

export interface ArchiveReader {
  tool: Tool
  /** Reads the whole archive. It may extract into the folder, which does not exist yet. */
  read(archive: string, folder: string): Promise<Contents>
}

const PYTHON = `
import hashlib, json, sys, tarfile
contents = {}
with tarfile.open(sys.argv[1], sys.argv[2], encoding='utf-8', errors='strict') as archive:
    for entry in archive:
        assert entry.isfile() or entry.isdir(), entry.type
        assert entry.mode == (0o644 if entry.isfile() else 0o755), oct(entry.mode)
        if entry.isfile():
            digest = hashlib.sha256()
            content = archive.extractfile(entry)
            while chunk := content.read(1 << 20):
                digest.update(chunk)
            contents[entry.name] = digest.hexdigest()
        else:
            contents[entry.name + '/'] = ''
print(json.dumps(contents))
`

/** RubyGems' reader returns long-name records as entries, so the script joins them to the entries they name. */
const RUBY = `
require 'digest'; require 'json'; require 'rubygems/package'; require 'zlib'
contents = {}
File.open(ARGV[0], 'rb') do |file|
  gzip = Zlib::GzipReader.new(file)
  long = nil
  Gem::Package::TarReader.new(gzip).each do |entry|
    if entry.header.typeflag == 'L'
      long = entry.read.delete_suffix("\\0")
      next
    end
    name = (long || entry.full_name).dup.force_encoding('utf-8')
    long = nil
    digest = Digest::SHA256.new
    while chunk = entry.read(1 << 20)
      digest.update(chunk)
    end
    contents[name] = entry.directory? ? '' : digest.hexdigest
  end
  gzip.read
  raise 'more after the gzip member' unless gzip.unused.nil? && file.eof?
end
puts JSON.generate(contents)
`

/** Independent programs that read archives. */
export const ARCHIVE_READERS: Readonly<Record<string, ArchiveReader>> = {
  'GNU tar': { tool: 'GNU tar', read: extractWith('GNU tar') },
  bsdtar: { tool: 'bsdtar', read: extractWith('bsdtar') },
  "Python's tarfile, seeking": { tool: 'Python', read: readWithPython('r:gz') },
  "Python's tarfile, streaming": { tool: 'Python', read: readWithPython('r|gz') },
  busybox: {
    tool: 'busybox',
    async read(archive, folder) {
      await mkdir(folder)
      await runTool('busybox', ['tar', '-xzf', archive, '-C', folder])
      return contentsOfFolder(folder)
    },
  },
  "Ruby's GzipReader and TarReader": {
    tool: 'Ruby',
    read: async (archive) => JSON.parse(await runTool('Ruby', ['-e', RUBY, archive])),
  },
}

function extractWith(tool: Tool): ArchiveReader['read'] {
  return async (archive, folder) => {
    await mkdir(folder)
    await runTool(tool, ['-xzf', archive, '-C', folder])
    return contentsOfFolder(folder)
  }
}

function readWithPython(mode: string): ArchiveReader['read'] {
  return async (archive) => JSON.parse(await runTool('Python', ['-c', PYTHON, archive, mode]))
}

export async function contentsOfFolder(folder: string): Promise<Contents> {
  const contents: Contents = {}
  for (const found of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const full = join(found.parentPath, found.name)
    const path = full.slice(folder.length + 1)
    contents[found.isDirectory() ? `${path}/` : path] = found.isDirectory()
      ? ''
      : await sha256Of(createReadStream(full))
  }
  return contents
}

export async function sha256Of(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const sha256 = createHash('sha256')
  await pipeline(bytes, sha256)
  return sha256.digest('hex')
}
