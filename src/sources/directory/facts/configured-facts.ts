import { isFullName, isName } from '../../../lib/names.ts'
import { webPage } from '../../../lib/public-url.ts'
import { oneLine } from '../../../lib/terminal-text.ts'
import { type Collaborator, DEFAULT_FACTS, PERMISSIONS, type SourceFacts } from '../../source.ts'
import { flag, type Settings, setting, settingValues } from '../files/repository-settings.ts'

type Flag = keyof typeof DEFAULT_FACTS | 'hasWiki'
const FLAGS = [...(Object.keys(DEFAULT_FACTS) as Flag[]), 'hasWiki'] as const

/** Importers assume that a repository has these. */
const ASSUMED_BY_IMPORTERS = ['hasIssues', 'hasDownloads'] as const

/** The facts that only this section can set are always present, possibly empty; the others only if they are configured. */
export type ConfiguredFacts = Partial<SourceFacts> &
  Pick<SourceFacts, 'topics' | 'templateRepository' | 'forkOf' | 'collaborators'>

/**
 * Returns what is set in the `[godwit]` section of the repository's config. Invalid values are ignored, except for
 * `private`: a repository with an invalid value is private.
 */
export function configuredFacts(settings: Settings): ConfiguredFacts {
  const text = (name: string) => setting(settings, `godwit.${name}`)
  const configured: ConfiguredFacts = {
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
