import { isFullName, isName } from '../../../lib/names.ts'
import { oneLine } from '../../../lib/one-line.ts'
import { webPage } from '../../../lib/public-url.ts'
import { type Collaborator, PERMISSIONS, type SourceFacts } from '../../source.ts'
import { everySetting, flag, type Settings, setting } from '../files/repository-settings.ts'

const FLAGS = [
  'archived',
  'disabled',
  'isTemplate',
  'hasIssues',
  'hasProjects',
  'hasWiki',
  'hasPages',
  'hasDownloads',
  'allowRebaseMerge',
  'allowSquashMerge',
  'allowMergeCommit',
  'deleteBranchOnMerge',
] as const

const IMPORTERS_TAKE_FOR_ON = ['hasIssues', 'hasDownloads'] as const

/** What git has no place for is always there, if only as nothing; the rest only where it was said. */
export type StatedFacts = Partial<SourceFacts> &
  Pick<SourceFacts, 'topics' | 'templateRepository' | 'forkOf' | 'collaborators'>

/**
 * What the operator says in the `[godwit]` section of the repository's config. A value that means nothing is as if it
 * had not been written, but for `private`: in doubt a repository is private.
 */
export function statedFacts(settings: Settings): StatedFacts {
  const text = (name: string) => setting(settings, `godwit.${name}`)
  const stated: StatedFacts = {
    topics: topics(everySetting(settings, 'godwit.topic')),
    templateRepository: fullName(text('templaterepository')),
    forkOf: fullName(text('forkof')),
    collaborators: collaborators(everySetting(settings, 'godwit.collaborator')),
  }
  const description = text('description')
  if (description !== undefined) stated.description = oneLine(description)
  const homepage = text('homepage')
  if (homepage !== undefined) stated.homepage = webPage(homepage)
  const language = oneLine(text('language') ?? '')
  if (language) stated.language = language
  const license = text('license') ?? ''
  if (/^[\w.+-]+$/.test(license)) stated.license = license
  if (/^organization$/i.test(text('ownertype') ?? '')) stated.ownerIsOrganization = true
  const isPrivate = flag(settings, 'godwit.private')
  if (isPrivate !== undefined) stated.private = isPrivate !== false
  for (const name of FLAGS) {
    const on = flag(settings, `godwit.${name.toLowerCase()}`)
    if (typeof on === 'boolean') stated[name] = on
  }
  const turnedOff = IMPORTERS_TAKE_FOR_ON.filter((name) => stated[name] === false)
  if (turnedOff.length > 0) stated.turnedOff = turnedOff
  return stated
}

function topics(values: readonly string[]): string[] {
  const topics = values.map((value) => value.trim().toLowerCase())
  return [...new Set(topics)].filter((topic) => /^[a-z0-9][a-z0-9-]{0,49}$/.test(topic))
}

function fullName(value: string | undefined): string | null {
  const name = value?.trim() ?? ''
  return isFullName(name) ? name : null
}

/** `login:permission`; of two that name one person the later counts. */
function collaborators(values: readonly string[]): Collaborator[] {
  const byLogin = new Map<string, Collaborator>()
  for (const value of values) {
    const [login = '', said, ...more] = value.split(':').map((part) => part.trim())
    const permission = PERMISSIONS.find((each) => each === said)
    if (more.length > 0 || !isName(login) || !permission) continue
    byLogin.set(login.toLowerCase(), { login, permission })
  }
  return [...byLogin.values()]
}
