import { dirname, resolve } from 'node:path'
import type { ConfigFile, ConfigLine } from './config-file.ts'
import { path } from './config-values.ts'
import { didYouMean } from './ground/near-name.ts'
import { allNames, anyOptionOf, fileNameOf } from './setting-names.ts'

/** The value of a setting in a file. */
export interface FileSetting {
  text: string
  /** `FILE:LINE`, the last where it stands on several. */
  at: string
}

export interface FileSettings {
  /** By the name that the setting has in the code. */
  settings: ReadonlyMap<string, FileSetting>
  mistakes: string[]
}

const byFileName = new Map(allNames.map((name) => [fileNameOf(name), name]))

/** What of a file is a setting, and what is wrong with the rest of it. */
export function fileSettings(file: ConfigFile | undefined): FileSettings {
  const settings = new Map<string, FileSetting>()
  const mistakes = [...(file?.mistakes ?? [])]
  const firstLines = new Map<string, number>()
  for (const each of file?.lines ?? []) {
    const at = `${file!.path}:${each.line}`
    const name = byFileName.get(each.name)
    if (name === undefined) {
      mistakes.push(`${at}: ${each.name}: unknown setting${suggestion(each.name)}`)
      continue
    }
    const before = settings.get(name)
    const { isList, read } = anyOptionOf(name)
    if (before && !isList) {
      mistakes.push(`${at}: ${each.name}: set twice; line ${firstLines.get(name)} sets it too`)
      continue
    }
    firstLines.set(name, each.line)
    try {
      const text = read === path ? absolute(each, file!) : each.text
      settings.set(name, { text: before ? `${before.text},${text}` : text, at })
    } catch (error) {
      mistakes.push(`${at}: ${each.name}: ${(error as Error).message}`)
    }
  }
  return { settings, mistakes }
}

/** It must mean the same whatever directory the reader stands in. */
function absolute({ text }: ConfigLine, file: ConfigFile): string {
  if (/^~/.test(text)) throw new Error('~ has no meaning here; write the whole path')
  return resolve(dirname(file.path), text)
}

/** The names of the flags; some write them as they are on a command line or in an environment. */
function suggestion(written: string): string {
  const plain = written
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/^--/, '')
    .replace(/^godwit-/, '')
  return didYouMean(plain, byFileName.keys())
}

/** Names of the secrets in a file that every user of this machine can read. */
export function exposedSecrets(
  { isOpenToAll }: Pick<ConfigFile, 'isOpenToAll'>,
  { settings }: Pick<FileSettings, 'settings'>,
): string[] {
  if (!isOpenToAll) return []
  const address = URL.parse(settings.get('databaseUrl')?.text ?? '')
  const hasPassword = address?.password || address?.searchParams.has('password')
  return [...(hasPassword ? ['database-url'] : []), ...(settings.has('token') ? ['token'] : [])]
}
