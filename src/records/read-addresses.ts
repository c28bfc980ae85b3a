import { parsed, type Shape } from '../lib/json-shape.ts'
import type { Author, IssueOrPull, Reviewer, TeamName } from './fact.ts'
import { pathInArchive } from './record-addresses.ts'

/**
 * Parses the addresses in records. They are distinguished by their ends, so the host and the path before an owner's name do not
 * matter. Paths of other exporters are understood as well as GitHub's.
 */

const DISCUSSED = /^(.+)\/(issues|pull|pulls|pull-requests|merge_requests)\/(\d+)$/
const TEAM = /(?:^|\/)orgs\/([^/]+)\/teams\/([^/]+)$/
const APP = /(?:^|\/)apps\/([^/]+)$/

/** Also accepts pages within an issue or a pull request, such as `…/pull/3/files#r5`. */
function discussedAt(address: string): ({ repository: string } & IssueOrPull) | undefined {
  const page = address.replace(/[#?].*$/s, '').replace(/\/(files|commits|diffs)$/, '')
  const [, base, kind, number] = DISCUSSED.exec(page) ?? []
  // GitLab has `/-/` after the repository.
  const repository = base && (repositoryAt(base.replace(/\/-$/, '')) ?? repositoryAt(base))
  if (!repository) return undefined
  return { repository, kind: kind === 'issues' ? 'issue' : 'pull_request', number: Number(number) }
}

function repositoryAt(address: string): string | undefined {
  const [owner, name] = partsOf(address).slice(-2)
  return owner && name ? `${owner}/${name}` : undefined
}

function loginAt(address: string): string | undefined {
  const app = APP.exec(address)?.[1]
  return app === undefined ? partsOf(address).at(-1) : `${unescaped(app)}[bot]`
}

/** Returns the parts of the path. An address such as `./alice` has no host. */
function partsOf(address: string): string[] {
  const path = address.replace(/^[a-z+.-]+:\/\/[^/]*/i, '').replace(/[#?].*$/s, '')
  return path.split('/').flatMap((part) => (part === '' || part === '.' ? [] : unescaped(part)))
}

function teamAt(address: string): TeamName | undefined {
  const [, organization, slug] = TEAM.exec(address) ?? []
  return organization && slug
    ? { organization: unescaped(organization), slug: unescaped(slug) }
    : undefined
}

/** Returns the number at the end of an address such as `…#issuecomment-12`. */
function idAt(address: string): number | undefined {
  const digits = /(\d+)$/.exec(address)?.[1]
  return digits === undefined || digits.length > 15 ? undefined : Number(digits)
}

/** Returns a function that returns the text after the last `before`. */
function partAfter(before: string): (address: string) => string | undefined {
  return (address) => {
    const after = splitAt(address, before)[1]
    return after === undefined ? undefined : unescaped(after)
  }
}

/** Returns the texts before and after the last `between`. */
function splitAt(address: string, between: string): [string, string] | [] {
  const at = address.lastIndexOf(between)
  return at < 0 ? [] : [address.slice(0, at), address.slice(at + between.length)]
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Null if the link is null, absent or, as some exporters write it, empty. */
export function orNone<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value == null || value === '' ? null : shape(value, at))
}

export const login: Shape<string> = parsed('the address of a person', loginAt)
export const person: Shape<Author> = orNone(login)
export const team: Shape<TeamName> = parsed('the address of a team', teamAt)
export const repositoryName: Shape<string> = parsed('the address of a repository', repositoryAt)
export const discussed = parsed('the address of an issue or a pull request', discussedAt)
export const id: Shape<number> = parsed('an address with a number at its end', idAt)
export const labelName: Shape<string> = parsed('the address of a label', partAfter('/labels/'))
export const milestoneNumber: Shape<number> = parsed('the address of a milestone', idAt)
export const categoryName: Shape<string> = parsed(
  'the address of a category',
  partAfter('/discussion_categories/'),
)
export const release = parsed('the address of a release', (address) => {
  const [base, tag] = splitAt(address, '/releases/tag/')
  const repository = base && repositoryAt(base)
  return repository && tag ? { repository, tag: unescaped(tag) } : undefined
})
export const commitComment = parsed('the address of a comment on a commit', (address) => {
  const [base, end] = splitAt(address, '/commit/')
  const repository = base && repositoryAt(base)
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
  const found = teamAt(address)
  if (found) return { kind: 'team', ...found }
  const named = loginAt(address)
  return named === undefined ? undefined : { kind: 'user', login: named }
})
