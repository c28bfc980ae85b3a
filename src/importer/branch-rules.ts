import { pathInArchive } from '../records/record-links.ts'
import type { Records } from './records.ts'

/** What restored repositories refuse of pushes, as settings of `receive`, by their full names. */
export type Denials = Map<string, [name: string, value: string][]>

type Rule = Record<string, unknown>

const NEEDS: [field: string, denial: string][] = [
  ['block_deletions_enforcement_level', 'denyDeletes'],
  ['block_force_pushes_enforcement_level', 'denyNonFastForwards'],
]
/** What a rule may say besides, and a git host has no setting for. */
const MORE = [
  'dismiss_stale_reviews_on_push',
  'require_code_owner_review',
  'strict_required_status_checks_policy',
  'authorized_actors_only',
  'requires_approving_reviews',
  'requires_commit_signatures',
  'requires_linear_history',
  'requires_status_checks',
  'restricts_review_dismissals',
]

/** How many rules for branches say nothing that the config of the restored repository does not say as well. */
export function rulesInConfigs(
  { repositories, protectedBranches }: Pick<Records, 'repositories' | 'protectedBranches'>,
  denials: Denials,
): number {
  const paths = new Map(repositories.map(({ url, git_url }) => [url, pathInArchive(git_url)]))
  return protectedBranches.filter((each) => {
    const rule = each as Rule
    const path = paths.get(String(rule.repository_url))
    const [, fullName = ''] = /^repositories\/(.+)\.git$/.exec(path ?? '') ?? []
    const said = denials.get(fullName) ?? []
    const isDenied = (name: string) => said.some(([key, value]) => key === name && value === 'true')
    const isInConfig = NEEDS.every(([field, denial]) => rule[field] === 0 || isDenied(denial))
    return isInConfig && MORE.every((field) => rule[field] === false)
  }).length
}
