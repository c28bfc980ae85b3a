import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git, GitCall } from '../../../git/git.ts'
import type { KnownFacts, SourceFacts } from '../../source.ts'
import { Unreadable } from '../../unreadable.ts'
import type { RepositoryPlace } from '../repository-tree.ts'
import { statsOf } from '../stats-below.ts'
import { readDescription } from './description.ts'
import { readTree } from './head-tree.ts'
import { measureOwnFiles } from './measure.ts'
import { publicUrl, webPage } from './public-url.ts'
import { oldestRoot, readRefs } from './repository-refs.ts'
import {
  flag,
  includesOthers,
  readSettings,
  type Settings,
  setting,
  tryIncludes,
} from './repository-settings.ts'
import { type StatedFacts, statedFacts } from './stated-facts.ts'

/** What holds facts besides refs and objects. */
const FACT_FILES = ['HEAD', 'config', 'description', 'git-daemon-export-ok']

/** What git does not know, until the operator says otherwise. */
const NOBODY_SAID = {
  archived: false,
  disabled: false,
  isTemplate: false,
  hasIssues: false,
  hasProjects: false,
  hasPages: false,
  hasDownloads: false,
  allowRebaseMerge: true,
  allowSquashMerge: true,
  allowMergeCommit: true,
  deleteBranchOnMerge: false,
}

/** Five git processes at most: config, refs, history, tree, licence; two when head and birthday are known. */
export async function readFacts(
  git: Git,
  { dir, wikiDir }: RepositoryPlace,
  known?: KnownFacts,
  signal?: AbortSignal,
): Promise<SourceFacts> {
  const call = { dir, ...(signal && { signal }) }
  const directory = await lstat(dir)
  if (!directory.isDirectory()) throw new Unreadable('it is no longer there')
  const sizeKib = await measureOwnFiles(dir)
  const settings = await readSettings(git, dir, signal)
  if (includesOthers(settings)) await tryIncludes(git, dir, signal)
  const stated = statedFacts(settings)
  const refs = await readRefs(git, call)
  const birth = Math.floor(directory.birthtimeMs || directory.mtimeMs)
  const createdAt = known?.createdAt ?? (await oldestRoot(git, call)) ?? birth
  const pushedAt = refs.newest ?? createdAt
  const files = await statsOf(FACT_FILES.map((name) => join(dir, name)))

  return {
    description: await readDescription(dir, settings),
    homepage: webPage(setting(settings, 'gitweb.url') ?? ''),
    private: !files.some(({ path }) => path.endsWith('git-daemon-export-ok')),
    defaultBranch: refs.defaultBranch,
    sizeKib,
    createdAt,
    pushedAt,
    updatedAt: Math.max(pushedAt, ...files.map(({ stats }) => Number(stats.mtimeMs))),
    ...(await treeFacts(git, refs.headCommit, stated, call, known)),
    ...NOBODY_SAID,
    hasWiki: wikiDir !== null,
    mirrorOf: mirrorOf(settings),
    ...stated,
  }
}

async function treeFacts(
  git: Git,
  head: string | null,
  stated: StatedFacts,
  call: GitCall,
  known?: KnownFacts,
): Promise<Pick<SourceFacts, 'headCommit' | 'language' | 'license'>> {
  const nothing = { headCommit: null, language: null, license: null }
  if (head === null || (stated.language && stated.license)) return nothing
  if (stated.language || stated.license) return { ...nothing, ...(await readTree(git, head, call)) }
  if (known?.headCommit === head) {
    return { headCommit: head, language: known.language, license: known.license }
  }
  return { headCommit: head, ...(await readTree(git, head, call)) }
}

/** A remote that is fetched from as a mirror; one that is only pushed to is a mirror of this repository instead. */
function mirrorOf(settings: Settings): string | null {
  for (const key of settings.keys()) {
    const remote = /^(remote\..+)\.mirror$/s.exec(key)?.[1]
    if (remote === undefined || flag(settings, key) !== true) continue
    const url = settings.get(`${remote}.url`)?.[0]
    if (url && settings.has(`${remote}.fetch`)) return publicUrl(url)
  }
  return null
}
