import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import type { BareRepository, ObjectFormat } from '../../snapshot.ts'
import { readText } from './read-text.ts'
import { Unsupported } from './repository-errors.ts'
import {
  INCLUDES_TIMEOUT_MS,
  includesOthers,
  LARGEST_CONFIG,
  plainSettings,
  readSettingsIn,
} from './repository-settings.ts'
import { COMMON_DIR, OF_ANOTHER, refuseSpecialIncludes } from './special-files.ts'
import { lstat } from './sync-fs.ts'

/** Extensions that change nothing in how refs and objects are read from files. */
const HARMLESS = new Set([
  'compatobjectformat',
  'noop',
  'noop-v1',
  'preciousobjects',
  'relativeworktrees',
  'worktreeconfig',
])

/** What the repository's own config says of how it is to be read. */
export interface StatedFormat {
  objectFormat: ObjectFormat
  /** Where its LFS objects are, if not in `lfs`. */
  lfsStorage: string | undefined
}

/**
 * The file is read by name, so that git neither opens the
 * repository nor heeds anything else in it. Throws Unsupported where the objects cannot all be there, or not be found.
 */
export async function readFormat(
  at: { dir: string; name: string },
  git: Git,
  signal: AbortSignal,
): Promise<StatedFormat> {
  const format: StatedFormat = { objectFormat: 'sha1', lfsStorage: undefined }
  for (const [key, value] of await settings(at, git, signal)) {
    const extension = /^extensions\.(.+)$/.exec(key)?.[1]
    if (extension === 'partialclone' || isPromisor(key, value))
      throw new Unsupported(at.name, 'it is a partial clone, which has only some of the objects')
    if (key === 'lfs.storage') format.lfsStorage = value
    if (extension === 'objectformat' && (value === 'sha1' || value === 'sha256'))
      format.objectFormat = value
    else if (extension === 'refstorage' && value === 'files') continue
    else if (extension !== undefined && !HARMLESS.has(extension))
      throw new Unsupported(at.name, `extensions.${extension} = ${value} is not supported`)
    if (key === 'core.repositoryformatversion' && Number(value) > 1)
      throw new Unsupported(at.name, `repository format version ${value} is not supported`)
  }
  return format
}

/** Throws Unsupported where history is cut off on purpose. */
export async function refuseCutHistory(repository: BareRepository): Promise<void> {
  const { name } = repository
  if (await saysAnything(repository, 'shallow'))
    throw new Unsupported(name, 'it is a shallow clone, which has only a part of the history')
  if (await saysAnything(repository, 'info/grafts'))
    throw new Unsupported(name, 'it has grafts (info/grafts), which hide history')
}

/** Throws Unsupported where its refs, or git itself, would be read from another repository. */
export async function refuseExternalPaths({
  dir,
  name,
}: Pick<BareRepository, 'dir' | 'name'>): Promise<void> {
  const refs = await lstat(join(dir, 'refs'))
  if (!refs.isDirectory()) throw new Unsupported(name, 'refs is not a directory of its own')
  if (await lstat(join(dir, COMMON_DIR)).catch(() => undefined))
    throw new Unsupported(name, OF_ANOTHER)
}

/** Whether it says that objects lie in other repositories. */
export function hasAlternates(repository: BareRepository): Promise<boolean> {
  return saysAnything(repository, 'objects/info/alternates')
}

/** With what it includes; where the config says nothing unusual, no git is started. */
async function settings(
  at: { dir: string; name: string },
  git: Git,
  signal: AbortSignal,
): Promise<[key: string, value: string][]> {
  const config = Buffer.from(
    (await readText(at, 'config', LARGEST_CONFIG)) ?? '',
    'latin1',
  ).toString()
  const plain = plainSettings(config)
  if (plain && !includesOthers(plain))
    return [...plain].flatMap(([key, values]) =>
      values.map((value): [string, string] => [key, value]),
    )
  const file = join(at.dir, 'config')
  const reader = { git, signal }
  await refuseSpecialIncludes(at, file, plain ?? (await readSettingsIn(file, reader)), reader)
  const list = ['config', '--file', file, '--includes', '--list', '-z']
  const text = await git.text(list, { signal, timeoutMs: INCLUDES_TIMEOUT_MS })
  return text.split('\0').map((setting) => {
    const end = setting.indexOf('\n')
    // A key without a value means true.
    return end < 0 ? [setting, 'true'] : [setting.slice(0, end), setting.slice(end + 1)]
  })
}

function isPromisor(key: string, value: string): boolean {
  if (/^remote\..*\.partialclonefilter$/.test(key)) return true
  return /^remote\..*\.promisor$/.test(key) && !/^(false|no|off|0|)$/i.test(value)
}

async function saysAnything(repository: BareRepository, path: string): Promise<boolean> {
  return /^[^#\s]/m.test((await readText(repository, path)) ?? '')
}
