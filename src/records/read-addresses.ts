import { parsed, type Shape } from '../lib/json-shape.ts'
import type { Author, IssueOrPull, Reviewer, TeamName } from './fact.ts'
import { pathInArchive } from './record-addresses.ts'

/**
 * Parses the addresses (URLs) in records. Only the end of an address is examined, so the host and any path before the owner's name
 * do not matter. The paths of other exporters are accepted as well as GitHub's.
 */

const ISSUE_OR_PULL = /^(.+)\/(issues|pull|pulls|pull-requests|merge_requests)\/(\d+)$/
const TEAM = /(?:^|\/)orgs\/([^/]+)\/teams\/([^/]+)$/
const APP = /(?:^|\/)apps\/([^/]+)$/

/** Also accepts pages within an issue or a pull request, such as `…/pull/3/files#r5`. */
function parseIssueOrPull(address: string): ({ repository: string } & IssueOrPull) | undefined {
  const page = address.replace(/[#?].*$/s, '').replace(/\/(files|commits|diffs)$/, '')
  const [, base, kind, number] = ISSUE_OR_PULL.exec(page) ?? []
  // GitLab has `/-/` after the repository.
  const repository = base && (parseRepository(base.replace(/\/-$/, '')) ?? parseRepository(base))
  if (!repository) return undefined
  return { repository, kind: kind === 'issues' ? 'issue' : 'pull_request', number: Number(number) }
}

function parseRepository(address: string): string | undefined {
  const [owner, name] = pathSegments(address).slice(-2)
  return owner && name ? `${owner}/${name}` : undefined
}

function parseLogin(address: string): string | undefined {
  const app = APP.exec(address)?.[1]
  return app === undefined ? pathSegments(address).at(-1) : `${decodeSegment(app)}[bot]`
}

/** Returns the decoded segments of the path. An address such as `./alice` has no host. */
function pathSegments(address: string): string[] {
  const path = address.replace(/^[a-z+.-]+:\/\/[^/]*/i, '').replace(/[#?].*$/s, '')
  return path
    .split('/')
    .flatMap((segment) => (segment === '' || segment === '.' ? [] : decodeSegment(segment)))
}

function parseTeam(address: string): TeamName | undefined {
  const [, organization, slug] = TEAM.exec(address) ?? []
  return organization && slug
    ? { organization: decodeSegment(organization), slug: decodeSegment(slug) }
    : undefined
}

/** Returns the number at the end of an address such as `…#issuecomment-12`. */
function parseTrailingNumber(address: string): number | undefined {
  const digits = /(\d+)$/.exec(address)?.[1]
  // Longer numbers may exceed Number.MAX_SAFE_INTEGER.
  return digits === undefined || digits.length > 15 ? undefined : Number(digits)
}

/** Returns a parser that returns the decoded text after the last `marker` in an address. */
function textAfter(marker: string): (address: string) => string | undefined {
  return (address) => {
    const after = splitAtLast(address, marker)[1]
    return after === undefined ? undefined : decodeSegment(after)
  }
}

/** Splits an address at the last `separator`. Returns an empty array if there is none. */
function splitAtLast(address: string, separator: string): [string, string] | [] {
  const at = address.lastIndexOf(separator)
  return at < 0 ? [] : [address.slice(0, at), address.slice(at + separator.length)]
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    // The text is not valid percent-encoding, so it is used as it is.
    return segment
  }
}

/** Accepts a missing link as null. Some exporters write an empty string instead of null. */
export function linkOrNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value == null || value === '' ? null : shape(value, at))
}

export const login: Shape<string> = parsed('the address of a person', parseLogin)
export const person: Shape<Author> = linkOrNull(login)
export const team: Shape<TeamName> = parsed('the address of a team', parseTeam)
export const repositoryName: Shape<string> = parsed('the address of a repository', parseRepository)
export const issueOrPull = parsed('the address of an issue or a pull request', parseIssueOrPull)
export const id: Shape<number> = parsed('an address with a number at its end', parseTrailingNumber)
export const labelName: Shape<string> = parsed('the address of a label', textAfter('/labels/'))
export const milestoneNumber: Shape<number> = parsed(
  'the address of a milestone',
  parseTrailingNumber,
)
export const categoryName: Shape<string> = parsed(
  'the address of a category',
  textAfter('/discussion_categories/'),
)
export const release = parsed('the address of a release', (address) => {
  const [base, tag] = splitAtLast(address, '/releases/tag/')
  const repository = base && parseRepository(base)
  return repository && tag ? { repository, tag: decodeSegment(tag) } : undefined
})
export const commitComment = parsed('the address of a comment on a commit', (address) => {
  const [base, end] = splitAtLast(address, '/commit/')
  const repository = base && parseRepository(base)
  const [, commit, number] = /^([0-9a-f]+)#\D*(\d{1,15})$/.exec(end ?? '') ?? []
  if (!repository || !commit || !number) return undefined
  return { repository, on: { commit, id: Number(number) } }
})
export const fileId: Shape<number> = parsed('the address of a file', (address) => {
  const digits = /\/files\/(\d+)\//.exec(address)?.[1]
  return digits === undefined ? undefined : Number(digits)
})
export const storedPath: Shape<string> = parsed('an address in the archive', pathInArchive)

export const reviewer: Shape<Reviewer> = parsed('the address of a person or a team', (address) => {
  const teamName = parseTeam(address)
  if (teamName) return { kind: 'team', ...teamName }
  const userLogin = parseLogin(address)
  return userLogin === undefined ? undefined : { kind: 'user', login: userLogin }
})
