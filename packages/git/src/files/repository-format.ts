import { join } from 'node:path'
import { decodeUtf8 } from '../refs.ts'
import type { BareRepository, ObjectFormat } from '../snapshot.ts'
import { type NamedDirectory, readText } from './regular-file.ts'
import { Unsupported } from './repository-errors.ts'
import {
  type ConfigReader,
  hasIncludes,
  MAX_CONFIG_BYTES,
  parsePlainConfig,
  readConfigFile,
  readConfigWithIncludes,
} from './repository-settings.ts'
import { COMMON_DIR, IS_WORKTREE, refuseSpecialIncludes } from './special-files.ts'
import { lstat, lstatIfExists } from './sync-fs.ts'

export const IS_PARTIAL_CLONE = 'it is a partial clone, which has only some of the objects'

/** Extensions that do not affect how refs and objects are read from files. */
const HARMLESS = new Set([
  'compatobjectformat',
  'noop',
  'noop-v1',
  'preciousobjects',
  'relativeworktrees',
  'worktreeconfig',
])

/**
 * Returns the hash function of the objects, the setting `lfs.storage` and the config without includes. Throws Unsupported for a partial
 * clone and for an unknown format. Runs git only for a config with includes, or one that `parsePlainConfig` cannot parse; git does not
 * open the repository for this.
 */
export async function readFormat(directory: NamedDirectory, reader: ConfigReader) {
  let objectFormat: ObjectFormat = 'sha1'
  let lfsStorage: string | undefined
  const file = join(directory.dir, 'config')
  const text = (await readText(directory, 'config', { maxBytes: MAX_CONFIG_BYTES })) ?? ''
  const repositorySettings =
    parsePlainConfig(decodeUtf8(text)) ?? (await readConfigFile(file, reader))
  if (hasIncludes(repositorySettings))
    await refuseSpecialIncludes(directory, file, repositorySettings, reader)
  const settings = hasIncludes(repositorySettings)
    ? await readConfigWithIncludes(file, reader)
    : repositorySettings
  for (const [key, values] of settings) {
    const extension = /^extensions\.(.+)$/.exec(key)?.[1]
    // A key without a value means true.
    for (const value of values.map((configured) => configured ?? 'true')) {
      if (extension === 'partialclone' || isPromisor(key, value))
        throw new Unsupported(directory.name, IS_PARTIAL_CLONE)
      if (key === 'lfs.storage') lfsStorage = value
      if (key === 'core.repositoryformatversion' && Number(value) > 1)
        throw new Unsupported(directory.name, `repository format version ${value} is not supported`)
      if (extension === undefined || (extension === 'refstorage' && value === 'files')) continue
      if (extension === 'objectformat' && (value === 'sha1' || value === 'sha256'))
        objectFormat = value
      else if (!HARMLESS.has(extension))
        throw new Unsupported(directory.name, `extensions.${extension} = ${value} is not supported`)
    }
  }
  return { objectFormat, lfsStorage, settings: repositorySettings }
}

/** Throws Unsupported if a shallow clone or grafts cut off a part of the history. */
export async function refusePartialHistory(repository: BareRepository): Promise<void> {
  const { name } = repository
  if (await hasLines(repository, 'shallow'))
    throw new Unsupported(name, 'it is a shallow clone, which has only a part of the history')
  if (await hasLines(repository, 'info/grafts'))
    throw new Unsupported(name, 'it has grafts (info/grafts), which hide history')
}

/** Throws Unsupported if git would read refs or the whole repository from another directory. */
export async function refuseExternalPaths({ dir, name }: NamedDirectory): Promise<void> {
  const refs = await lstat(join(dir, 'refs'))
  if (!refs.isDirectory())
    throw new Unsupported(name, 'refs is not a directory, or is a link to one')
  if (await lstatIfExists(join(dir, COMMON_DIR))) throw new Unsupported(name, IS_WORKTREE)
}

export function hasAlternates(repository: BareRepository): Promise<boolean> {
  return hasLines(repository, 'objects/info/alternates')
}

function isPromisor(key: string, value: string): boolean {
  if (/^remote\..*\.partialclonefilter$/.test(key)) return true
  return /^remote\..*\.promisor$/.test(key) && !/^(false|no|off|0|)$/i.test(value)
}

/** Whether the file has a line that is not empty and not a comment. */
async function hasLines(repository: BareRepository, path: string): Promise<boolean> {
  return /^[^#\s]/m.test((await readText(repository, path)) ?? '')
}
