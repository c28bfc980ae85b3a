import { oneLine } from '../ground/one-line.ts'
import type { RepositoryRecord } from '../records/record-shapes.ts'

export interface About {
  hasWiki: boolean
  /** Whether its owner is one. */
  isOrganization: boolean
  loginOf(url: string): string | undefined
}

/**
 * What a record says of a repository and git has no place for, as the `[godwit]` section that gives it back when the
 * repository is served or exported again. An archive does not say what the repository is a fork of, or made from.
 */
export function statedConfig(
  record: RepositoryRecord,
  { hasWiki, isOrganization, loginOf }: About,
): string {
  const settings = record.general_settings
  const collaborators = (record.collaborators ?? []).flatMap(({ user, permission }) => {
    const login = loginOf(user)
    return login === undefined ? [] : [`${login}:${permission}`]
  })
  const said: [key: string, value: string | boolean | null | undefined][] = [
    ['ownerType', isOrganization ? 'Organization' : undefined],
    ['homepage', record.website],
    ['archived', record.is_archived],
    ['isTemplate', settings?.template],
    ['hasIssues', record.has_issues],
    ['hasProjects', settings?.projects],
    // That there is one need not be said.
    ['hasWiki', record.has_wiki === hasWiki ? undefined : record.has_wiki],
    ['hasDownloads', record.has_downloads],
    ['allowMergeCommit', settings?.merge_commit],
    ['allowSquashMerge', settings?.squash_merge],
    ['allowRebaseMerge', settings?.rebase_merge],
    ['deleteBranchOnMerge', settings?.delete_branch_heads],
    ...(record.repository_topics ?? []).map(({ topic_name }): [string, string] => [
      'topic',
      topic_name,
    ]),
    ...collaborators.map((value): [string, string] => ['collaborator', value]),
  ]
  const lines = said.flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [`\t${key} = ${quoted(String(value))}\n`],
  )
  return `[godwit]\n${lines.join('')}`
}

/** On one line and in quotes, nothing in a value can begin another setting. */
function quoted(value: string): string {
  return `"${oneLine(value).replace(/["\\]/g, '\\$&')}"`
}
