import { address, addressTemplate, all, recordOf, text } from '../description/json-schema.ts'

const own = 'An extension of this server.'

export const rootSchema = recordOf(
  {
    ...all(
      [
        'current_user_url',
        'authorizations_url',
        'emails_url',
        'emojis_url',
        'events_url',
        'feeds_url',
        'followers_url',
        'issues_url',
        'keys_url',
        'notifications_url',
        'public_gists_url',
        'rate_limit_url',
        'starred_gists_url',
        'user_organizations_url',
      ],
      address,
    ),
    ...all(
      [
        'current_user_authorizations_html_url',
        'code_search_url',
        'commit_search_url',
        'following_url',
        'gists_url',
        'issue_search_url',
        'label_search_url',
        'organization_url',
        'organization_repositories_url',
        'organization_teams_url',
        'repository_url',
        'repository_search_url',
        'current_user_repositories_url',
        'starred_url',
        'topic_search_url',
        'user_url',
        'user_repositories_url',
        'user_search_url',
      ],
      addressTemplate,
    ),
    ...all(['user_migrations_url', 'user_migration_url'], { ...addressTemplate, description: own }),
    documentation_url: { ...address, description: own },
    media_type: { ...text, description: `Media type of the preview, for \`accept\`. ${own}` },
  },
  { description: 'Addresses of the API. Many of them do not exist on a git host.' },
)
