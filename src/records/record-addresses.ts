import type { Discussed, TeamName } from './fact.ts'

/**
 * Where things are on the host that an archive is of: `url` is the key of every record, and every link from one record to
 * another is a URL. The paths are GitHub's, whatever the host calls its own pages: importers know no others.
 */
export interface RecordAddresses {
  /** Where teams and attachments are; without a slash at the end. */
  host: string
  person(login: string): string
  /** Of `owner/name`. */
  repository(fullName: string): string
}

/** Every address that is made of those. */
export interface Links {
  person(login: string | null): string | null
  team(team: TeamName): string
  attachment(uuid: string): string
  repository(fullName: string | null): string | null
  discussed(repository: string, discussed: Discussed): string
  /** `what` is such as `issuecomment-5`. */
  inDiscussion(repository: string, discussed: Discussed, what: string): string
  /** `what` is such as `r5`. */
  inPull(repository: string, pull: number, what: string): string
  commitComment(repository: string, commit: string, id: number): string
  label(repository: string, name: string): string
  milestone(repository: string, number: number | null): string | null
  release(repository: string, tag: string): string
  protectedBranch(repository: string, name: string): string
}

export function linksAt({ host, person, repository }: RecordAddresses): Links {
  const discussed = (name: string, { kind, number }: Discussed) =>
    `${repository(name)}/${kind === 'issue' ? 'issues' : 'pull'}/${number}`
  return {
    person: (login) => (login === null ? null : person(login)),
    team: ({ organization, slug }) => `${host}/orgs/${organization}/teams/${slug}`,
    attachment: (uuid) => `${host}/user-attachments/assets/${uuid}`,
    repository: (fullName) => (fullName === null ? null : repository(fullName)),
    discussed,
    inDiscussion: (name, on, what) => `${discussed(name, on)}#${what}`,
    inPull: (name, pull, what) => `${repository(name)}/pull/${pull}/files#${what}`,
    commitComment: (name, commit, id) => `${repository(name)}/commit/${commit}#commitcomment-${id}`,
    label: (name, label) => `${repository(name)}/labels/${escaped(label)}`,
    milestone: (name, number) =>
      number === null ? null : `${repository(name)}/milestones/${number}`,
    release: (name, tag) => `${repository(name)}/releases/tag/${escaped(tag)}`,
    protectedBranch: (name, branch) => `${repository(name)}/settings/branches/${escaped(branch)}`,
  }
}

/** As RFC 6570 expands one value, which is how GitHub makes these. */
function escaped(part: string): string {
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(part.toWellFormed()).replace(/[!'()*]/g, hex)
}
