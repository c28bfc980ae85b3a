/**
 * Types that all facts share.
 *
 * Facts refer to people by login, to repositories as `owner/name`, to issues and pull requests by number, and to the rest by the
 * id that the host assigned, never by address. Times are ISO 8601 strings exactly as they were written, because archives use
 * several forms (`2024-05-01T12:00:00Z`, `2024-05-02T09:00:00.000+08:00`).
 */

/** Stands for a missing creation time: some exporters leave it out for users, organizations and labels. */
export const UNKNOWN_TIME = '1970-01-01T00:00:00Z'

/**
 * The login of a person, a bot (`renovate[bot]`) or an organization. `ghost` stands for deleted accounts. Null if the record
 * names nobody.
 */
export type Author = string | null

/** An issue or a pull request. Both share one sequence of numbers in a repository. */
export interface IssueOrPull {
  kind: 'issue' | 'pull_request'
  number: number
}

/** A fact that belongs to one repository. */
export interface RepositoryFact {
  /** `owner/name`. */
  repository: string
}

export interface Reaction {
  author: Author
  /** As the REST APIs of GitHub and Gitea name it: +1, -1, laugh, hooray, confused, heart, rocket, eyes. Others are kept as they are. */
  content: string
  createdAt: string
}

export interface TeamName {
  organization: string
  /** The last part of the team's address: its name in lower case with hyphens. */
  slug: string
}

/** A person or a team that can be asked for a review. */
export type Reviewer = { kind: 'user'; login: string } | ({ kind: 'team' } & TeamName)

/** The subject of an event. For a transferred issue it is the former repository. */
export type Party = Reviewer | { kind: 'repository'; repository: string }
