/**
 * Types that all records share. A record is a user, an issue, a release and so on, without URLs; its JSON in an archive is a GitHub record.
 *
 * Records refer to people by login, to repositories as `owner/name`, to issues and pull requests by number, and to everything else by
 * the id that the host assigned, never by URL. Times are ISO 8601 strings and are not normalized, because archives use several
 * forms (`2024-05-01T12:00:00Z`, `2024-05-02T09:00:00.000+08:00`).
 */

/** Replaces a missing creation time. Some exporters omit it for users, organizations and labels. */
export const UNKNOWN_TIME = '1970-01-01T00:00:00Z'

/**
 * The login of a person, a bot (`renovate[bot]`) or an organization. `ghost` stands for deleted accounts. Null if the record
 * has no author.
 */
export type Author = string | null

/** An issue or a pull request. Both share one sequence of numbers in a repository. */
export type IssueOrPull = { kind: 'issue' | 'pull_request'; number: number }

/** The largest number of an issue or a pull request that servers can store. */
export const MAX_ITEM_NUMBER = 2 ** 31 - 1

export interface RecordOfRepository {
  /** `owner/name`. */
  repository: string
}

/** The id of a commit that is not known. */
export const NO_COMMIT = '0'.repeat(40)

/** The reactions that GitHub and Gitea know. GitLab has many more. */
export const COMMON_REACTIONS: readonly string[] =
  '+1 -1 laugh hooray confused heart rocket eyes'.split(' ')

export interface TeamName {
  organization: string
  /** The last part of the team's URL: its name in lower case with hyphens. */
  slug: string
}

/** A person or a team whose review can be requested. */
export type Reviewer = { kind: 'user'; login: string } | ({ kind: 'team' } & TeamName)

/** The subject of an issue event: a person or a team, or the former repository of a transferred issue. */
export type EventSubject = Reviewer | { kind: 'repository'; repository: string }
