import { linksOf, pathInArchive } from '../records/record-links.ts'
import type { Records } from './records.ts'
import { recordFiles } from './records.ts'

/** More of one kind say nothing new. */
const MOST_OF_A_KIND = 10

/**
 * The links of what people said: of every record that is no user, organization or repository, whose own are told of elsewhere.
 * Two passes over the files; only addresses stay in memory.
 */
export async function* brokenRecordLinks(
  root: string,
  { repositories, hasUsers }: Pick<Records, 'repositories' | 'hasUsers'>,
  isInArchive: (path: string) => boolean,
): AsyncGenerator<string> {
  const known = new Set<string>()
  for (const { labels = [] } of repositories) for (const { url } of labels) known.add(url)
  for await (const { read } of recordFiles(root)) {
    if ('fault' in read) continue
    for (const { value } of read.records) {
      const { url } = value as { url?: unknown }
      if (typeof url === 'string') known.add(url)
    }
  }
  const leadsOn = ({ address, to }: ReturnType<typeof linksOf>[number]): boolean => {
    if (to !== 'archive') return known.has(address) || (to === 'person' && !hasUsers)
    const path = pathInArchive(address)
    return path !== undefined && isInArchive(path)
  }
  for await (const { file, kind, read } of recordFiles(root)) {
    if ('fault' in read || ['users', 'organizations', 'repositories'].includes(kind)) continue
    let told = 0
    for (const { index, value } of read.records)
      for (const link of linksOf(value)) {
        if (leadsOn(link) || told++ >= MOST_OF_A_KIND) continue
        const where = link.to === 'archive' ? 'which is not in the archive' : 'which has no record'
        yield `${file}: [${index}].${link.field} leads to ${link.address}, ${where}`
      }
    if (told > MOST_OF_A_KIND) yield `${file}: and ${told - MOST_OF_A_KIND} more like these`
  }
}
