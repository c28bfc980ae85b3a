import { pathInArchive } from '../records/record-links.ts'
import type { RepositoryRecord } from '../records/record-shapes.ts'
import type { Records } from './records.ts'

/** Every link from one record to another, or into the archive, that leads nowhere; and every address that two share. */
export function brokenLinks(
  {
    users,
    organizations,
    repositories,
    hasUsers,
  }: Pick<Records, 'users' | 'organizations' | 'repositories' | 'hasUsers'>,
  isInArchive: (path: string) => boolean,
): string[] {
  const people = new Set([...users, ...organizations].map(({ url }) => url))
  const faults = sharedAddresses([...users, ...organizations, ...repositories])
  const toPerson = (from: string, link: string) => {
    if (hasUsers && !people.has(link)) faults.push(`${from} links to ${link}, who has no record`)
  }
  const toArchive = (from: string, link: string) => {
    const path = pathInArchive(link)
    if (path === undefined || !isInArchive(path))
      faults.push(`${from} leads to ${link}, which is not in the archive`)
  }
  for (const { url, members } of organizations)
    for (const member of members ?? []) toPerson(`a member of ${url}`, member.user)
  for (const repository of repositories) {
    const { url } = repository
    for (const [what, link] of linksToPeople(repository)) toPerson(`${what} of ${url}`, link)
    for (const topic of repository.repository_topics ?? [])
      if (topic.repository !== undefined && topic.repository !== url)
        faults.push(`a topic of ${url} belongs to ${topic.repository}`)
    toArchive(`git_url of ${url}`, repository.git_url)
    if (repository.wiki_url !== undefined) toArchive(`wiki_url of ${url}`, repository.wiki_url)
  }
  return faults
}

function linksToPeople(repository: RepositoryRecord): [what: string, link: string][] {
  const { owner, collaborators = [], repository_topics = [] } = repository
  return [
    ['the owner', owner],
    ...collaborators.map(({ user }): [string, string] => ['a collaborator', user]),
    ...repository_topics.flatMap(({ creator }): [string, string][] =>
      creator === undefined ? [] : [['the creator of a topic', creator]],
    ),
  ]
}

function sharedAddresses(records: readonly { url: string }[]): string[] {
  const byAddress = Map.groupBy(records, ({ url }) => url)
  return [...byAddress].flatMap(([url, those]) =>
    those.length > 1 ? [`${those.length} records have the address ${url}`] : [],
  )
}
