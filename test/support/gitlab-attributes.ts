/** What GitLab reads of one relation of a project export: its attributes, and the relations nested in it. */
interface ReadAttributes {
  attributes: readonly string[]
  relations: readonly string[]
}

const words = (text: string): string[] => text.split(/\s+/).filter(Boolean)
const read = (attributes: string, relations = ''): ReadAttributes => ({
  attributes: words(attributes),
  relations: words(relations),
})

const TIMES = 'created_at updated_at'
const DISCUSSED =
  'award_emoji notes label_links milestone resource_label_events resource_milestone_events resource_state_events timelogs events'
const LABEL = read(
  `title color project_id group_id template description priority type ${TIMES}`,
  'priorities',
)
const MILESTONE = read(
  `iid title project_id group_id description due_date start_date state ${TIMES}`,
  'events',
)
const NOTE = read(
  `note noteable_type author_id project_id line_code commit_id system st_diff updated_by_id type position original_position
   change_position resolved_at resolved_by_id resolved_by_push discussion_id confidential last_edited_at ${TIMES}`,
  'author award_emoji system_note_metadata events suggestions note_diff_file',
)
const NAME_AND_EMAIL = read('name email')
const LEVELS = read(`access_level user_id group_id ${TIMES}`)

/**
 * The allow-list of GitLab's importer (`lib/gitlab/import_export/project/import_export.yml` of 2026), of those relations that an
 * export of Godwit can have. `user.email` is what servers until 13.5 read instead of `public_email`.
 */
export const GITLAB_ATTRIBUTES: Readonly<Record<string, ReadAttributes>> = {
  project: read(
    'name description visibility_level archived default_branch merge_method squash_option',
  ),
  project_feature: read(
    `project_id merge_requests_access_level issues_access_level wiki_access_level snippets_access_level builds_access_level
     repository_access_level releases_access_level ${TIMES}`,
  ),
  labels: LABEL,
  label: LABEL,
  milestones: MILESTONE,
  milestone: MILESTONE,
  issues: read(
    `title author_id project_id description state iid updated_by_id confidential closed_at closed_by_id due_date weight
     time_estimate last_edited_at discussion_locked issue_type ${TIMES}`,
    `issue_assignees ${DISCUSSED}`,
  ),
  merge_requests: read(
    `target_branch source_branch source_project_id author_id title state merge_status target_project_id iid description
     merge_params merge_user_id merge_commit_sha squash_commit_sha squash last_edited_at discussion_locked draft diff_head_sha
     source_branch_sha target_branch_sha ${TIMES}`,
    `approvals metrics merge_request_assignees merge_request_reviewers merge_request_diff ${DISCUSSED}`,
  ),
  issue_assignees: read('user_id'),
  merge_request_assignees: read('user_id created_at'),
  merge_request_reviewers: read('user_id created_at state'),
  approvals: read(`user_id ${TIMES}`),
  metrics: read(
    `latest_closed_by_id latest_closed_at merged_by_id merged_at first_comment_at ${TIMES}`,
  ),
  merge_request_diff: read(
    `state base_commit_sha real_size head_commit_sha start_commit_sha commits_count files_count sorted diff_type ${TIMES}`,
    'merge_request_diff_commits merge_request_diff_files',
  ),
  merge_request_diff_commits: read(
    `author_name author_email committer_name committer_email relative_order sha authored_date committed_date message trailers`,
    'commit_author committer',
  ),
  commit_author: NAME_AND_EMAIL,
  committer: NAME_AND_EMAIL,
  merge_request_diff_files: read(
    'relative_order new_file renamed_file deleted_file new_path old_path a_mode b_mode too_large binary encoded_file_path utf8_diff',
  ),
  notes: NOTE,
  commit_notes: { ...NOTE, relations: ['author', 'events'] },
  author: read('name'),
  note_diff_file: read(
    'new_file renamed_file deleted_file a_mode b_mode new_path old_path diff_export',
  ),
  system_note_metadata: read(`commit_count action ${TIMES}`),
  suggestions: read(
    'relative_order applied commit_id from_content to_content outdated lines_above lines_below',
  ),
  award_emoji: read(`user_id name awardable_type ${TIMES}`),
  label_links: read(`target_type ${TIMES}`, 'label'),
  resource_label_events: read('action user_id created_at', 'label'),
  resource_milestone_events: read('user_id action created_at state', 'milestone'),
  resource_state_events: read('user_id state created_at source_commit'),
  releases: read(`tag description project_id author_id name sha released_at ${TIMES}`, 'links'),
  links: read(`url name filepath link_type ${TIMES}`),
  project_members: read(
    `access_level source_type user_id notification_level created_by_id invite_email expires_at ${TIMES}`,
    'user',
  ),
  user: read('id public_email username email'),
  protected_branches: read(
    `project_id name code_owner_approval_required allow_force_push ${TIMES}`,
    'merge_access_levels push_access_levels',
  ),
  merge_access_levels: LEVELS,
  push_access_levels: LEVELS,
}
