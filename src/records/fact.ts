/**
 * What facts of this room have in common.
 *
 * Facts name people by login, repositories as `owner/name`, issues and pull requests by number, and the rest by the id that
 * its host gave it: never by address. Times are ISO 8601 texts exactly as they were written: archives use several forms
 * (`2024-05-01T12:00:00Z`, `2024-05-02T09:00:00.000+08:00`), and a text that is kept can be written again.
 */

/** Some makers do not say when a user, an organization or a label came to be. */
export const BEGINNING_OF_TIME = '1970-01-01T00:00:00Z'

/**
 * The login of a person, a bot (`renovate[bot]`) or an organization; `ghost` stands for accounts that are gone; null where a
 * record names nobody at all.
 */
export type Author = string | null

/** What can be discussed: issues and pull requests of a repository share one row of numbers. */
export interface Discussed {
  kind: 'issue' | 'pull_request'
  number: number
}

/** Part of a discussion of one repository. */
export interface DiscussionFact {
  /** `owner/name`. */
  repository: string
}

export interface Reaction {
  author: Author
  /** As REST of GitHub and of Gitea names it: +1, -1, laugh, hooray, confused, heart, rocket, eyes; others as they came. */
  content: string
  createdAt: string
}

export interface TeamName {
  organization: string
  /** The last part of a team's address: its name in lower case with hyphens. */
  slug: string
}

/** Who can be asked for a review: a person, or a whole team. */
export type Reviewer = { kind: 'user'; login: string } | ({ kind: 'team' } & TeamName)

/** Whom an event names; of a transferred issue that is a repository. */
export type Party = Reviewer | { kind: 'repository'; repository: string }
