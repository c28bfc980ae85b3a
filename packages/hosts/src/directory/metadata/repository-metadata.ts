import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { MAX_DESCRIPTION_BYTES, parseDescription } from '@godwit/git/description'
import { readFileStart } from '@godwit/git/files/regular-file'
import {
  flag,
  hasIncludes,
  readConfigWithIncludes,
  readSettings,
  type Settings,
  setting,
  settingValues,
} from '@godwit/git/files/repository-settings'
import { refuseSpecialFiles } from '@godwit/git/files/special-files'
import { statExisting, walkStats } from '@godwit/git/files/sync-fs'
import type { Git } from '@godwit/git/git'
import { Unreadable } from '@godwit/git/unreadable'
import { ifExists } from '@godwit/lib/errno'
import { isFullName, isName } from '@godwit/lib/names'
import { oneLine } from '@godwit/lib/terminal-text'
import { forEachInTurns } from '@godwit/lib/turns'
import { publicUrl, webPage } from '../../public-url.ts'
import {
  type Collaborator,
  DEFAULT_METADATA,
  PERMISSIONS,
  type PreviousMetadata,
  type SourceMetadata,
} from '../../source.ts'
import { readMetadataFromFiles } from './metadata-from-files.ts'
import { type GitMetadata, readMetadataWithGit } from './metadata-from-git.ts'

/** The files with metadata besides refs and objects. Their modification times determine `updatedAt`. */
const METADATA_FILES = ['HEAD', 'config', 'description', 'git-daemon-export-ok']

/** Reads the metadata of an ordinary repository from its files, and of any other repository with git. */
export async function readRepositoryMetadata(
  git: Git,
  { dir, wikiDir }: { dir: string; wikiDir: string | null },
  previous?: PreviousMetadata,
  signal?: AbortSignal,
): Promise<SourceMetadata> {
  const call = { dir, ...(signal && { signal }) }
  const directory = await lstat(dir)
  if (!directory.isDirectory()) throw new Unreadable('it no longer exists')
  const { sizeKib, areObjectsOrdinary } = await measureObjects(dir)
  signal?.throwIfAborted()
  await refuseSpecialFiles({ dir }, { git, signal }, { areObjectsOrdinary })
  const settings = await readSettings(git, dir, signal)
  // Reading metadata does not follow includes, but git fails on this repository if it cannot read them.
  if (hasIncludes(settings)) await readConfigWithIncludes(join(dir, 'config'), { git, signal })
  const configured = configuredMetadata(settings)
  const wanted = {
    oldestCommit: previous === undefined,
    // If the operator sets one of language and licence, the previous values may be configured ones, too.
    isTreeWanted: (head: string) =>
      !areBothConfigured(configured) &&
      (isEitherConfigured(configured) || previous?.headCommit !== head),
  }
  const metadata =
    (await readMetadataFromFiles(git, call, settings, wanted)) ??
    (await readMetadataWithGit(git, call, wanted))
  const { refs } = metadata
  const birth = Math.floor(directory.birthtimeMs || directory.mtimeMs)
  const createdAt = previous?.createdAt ?? metadata.oldest ?? birth
  const pushedAt = refs.newest ?? createdAt
  const files = statExisting(dir, METADATA_FILES)

  return {
    description: await readDescription(dir, settings),
    homepage: webPage(setting(settings, 'gitweb.url') ?? ''),
    private: !files.some(({ path }) => path.endsWith('git-daemon-export-ok')),
    defaultBranch: refs.defaultBranch,
    sizeKib,
    createdAt,
    pushedAt,
    updatedAt: Math.max(pushedAt, ...files.map(({ stats }) => Number(stats.mtimeMs))),
    ...treeMetadata(metadata, configured, previous),
    ...DEFAULT_METADATA,
    hasWiki: wikiDir !== null,
    mirrorOf: mirrorOf(settings),
    ...denialsOf(settings),
    ...configured,
  }
}

/** Returns what gitweb and cgit show: the file `description`, unless it is git's default, otherwise `gitweb.description`. */
async function readDescription(dir: string, settings: Settings): Promise<string> {
  const read = readFileStart(join(dir, 'description'), MAX_DESCRIPTION_BYTES)
  // A link could show any file of this machine. Links and directories count as an empty description.
  const file = await ifExists(read, 'ENOENT', 'ELOOP', 'EISDIR')
  return (file && parseDescription(file)) || oneLine(setting(settings, 'gitweb.description') ?? '')
}

const areBothConfigured = ({ language, license }: ConfiguredMetadata) =>
  Boolean(language && license)
const isEitherConfigured = ({ language, license }: ConfiguredMetadata) =>
  Boolean(language || license)

function treeMetadata(
  { refs, tree }: GitMetadata,
  configured: ConfiguredMetadata,
  previous?: PreviousMetadata,
): Pick<SourceMetadata, 'headCommit' | 'language' | 'license'> {
  const nothing = { headCommit: null, language: null, license: null }
  if (refs.headCommit === null || areBothConfigured(configured)) return nothing
  if (isEitherConfigured(configured)) return { ...nothing, ...tree }
  const { language, license } = tree ?? previous ?? nothing
  return { headCommit: refs.headCommit, language, license }
}

/** Returns which pushes the repository's config refuses for all users. */
function denialsOf(settings: Settings): Pick<SourceMetadata, 'denies'> {
  const denies: SourceMetadata['denies'] = []
  if (flag(settings, 'receive.denynonfastforwards') === true) denies.push('nonFastForwards')
  if (flag(settings, 'receive.denydeletes') === true) denies.push('deletes')
  return denies.length > 0 ? { denies } : {}
}

/** Returns the URL of the remote that this repository mirrors. A mirror remote without `fetch` is only pushed to. */
function mirrorOf(settings: Settings): string | null {
  for (const key of settings.keys()) {
    const remote = /^(remote\..+)\.mirror$/s.exec(key)?.[1]
    if (remote === undefined || flag(settings, key) !== true) continue
    const url = settings.get(`${remote}.url`)?.[0]
    if (url && settings.has(`${remote}.fetch`)) return publicUrl(url)
  }
  return null
}

/** The size of these folders does not depend on the file system, and is 0 for an empty repository. */
const MEASURED_FOLDERS = ['objects', 'lfs']

/** Returns the size of objects and LFS objects in KiB, and whether there are only files and directories. */
async function measureObjects(dir: string) {
  let bytes = 0n
  let areObjectsOrdinary = true
  for (const folder of MEASURED_FOLDERS)
    await forEachInTurns(walkStats(join(dir, folder)), ({ stats }) => {
      if (stats.isFile()) bytes += stats.size
      else if (!stats.isDirectory()) areObjectsOrdinary = false
    })
  return { sizeKib: Number((bytes + 1023n) / 1024n), areObjectsOrdinary }
}

type Flag = keyof typeof DEFAULT_METADATA | 'hasWiki'
const FLAGS = [...(Object.keys(DEFAULT_METADATA) as Flag[]), 'hasWiki'] as const

/** Importers assume that a repository has these. */
const ASSUMED_BY_IMPORTERS = ['hasIssues', 'hasDownloads'] as const

/** The values that only this section can set are always present, possibly empty; the others only if they are configured. */
type ConfiguredMetadata = Partial<SourceMetadata> &
  Pick<SourceMetadata, 'topics' | 'templateRepository' | 'forkOf' | 'collaborators'>

/**
 * Returns what is set in the `[godwit]` section of the repository's config. Invalid values are ignored, except for
 * `private`: a repository with an invalid value is private.
 */
function configuredMetadata(settings: Settings): ConfiguredMetadata {
  const text = (name: string) => setting(settings, `godwit.${name}`)
  const configured: ConfiguredMetadata = {
    topics: topics(settingValues(settings, 'godwit.topic')),
    templateRepository: fullName(text('templaterepository')),
    forkOf: fullName(text('forkof')),
    collaborators: collaborators(settingValues(settings, 'godwit.collaborator')),
  }
  const description = text('description')
  if (description !== undefined) configured.description = oneLine(description)
  const homepage = text('homepage')
  if (homepage !== undefined) configured.homepage = webPage(homepage)
  const language = oneLine(text('language') ?? '')
  if (language) configured.language = language
  const license = text('license') ?? ''
  if (/^[\w.+-]+$/.test(license)) configured.license = license
  if (/^organization$/i.test(text('ownertype') ?? '')) configured.ownerIsOrganization = true
  const isPrivate = flag(settings, 'godwit.private')
  if (isPrivate !== undefined) configured.private = isPrivate !== false
  for (const name of FLAGS) {
    const value = flag(settings, `godwit.${name.toLowerCase()}`)
    if (typeof value === 'boolean') configured[name] = value
  }
  const turnedOff = ASSUMED_BY_IMPORTERS.filter((name) => configured[name] === false)
  if (turnedOff.length > 0) configured.turnedOff = turnedOff
  return configured
}

function topics(values: readonly string[]): string[] {
  const topics = values.map((value) => value.trim().toLowerCase())
  return [...new Set(topics)].filter((topic) => /^[a-z0-9][a-z0-9-]{0,49}$/.test(topic))
}

function fullName(value: string | undefined): string | null {
  const name = value?.trim() ?? ''
  return isFullName(name) ? name : null
}

/** Each value is `login:permission`. The last value for a login takes precedence. */
function collaborators(values: readonly string[]): Collaborator[] {
  const byLogin = new Map<string, Collaborator>()
  for (const value of values) {
    const [login = '', level, ...more] = value.split(':').map((part) => part.trim())
    const permission = PERMISSIONS.find((each) => each === level)
    if (more.length > 0 || !isName(login) || !permission) continue
    byLogin.set(login.toLowerCase(), { login, permission })
  }
  return [...byLogin.values()]
}
