import { RECORD_FORMATS, type RecordsByKind, type WrittenKind } from './record-kinds.ts'
import { createRecordUrls, type HostUrls } from './record-urls.ts'

/** Returns the GitHub record of a record, ready for JSON.stringify. */
export function toGitHubRecord<K extends WrittenKind>(
  kind: K,
  record: RecordsByKind[K],
  urls: HostUrls,
) {
  return RECORD_FORMATS[kind].write(record as never, createRecordUrls(urls))
}

/**
 * Returns the logins of people, bots and organizations that this GitHub record links to. Each of them needs a record too.
 * The logins are collected while the record is built, so that no link is missed.
 */
export function loginsIn<K extends WrittenKind>(kind: K, record: RecordsByKind[K]): Set<string> {
  const logins = new Set<string>()
  toGitHubRecord(kind, record, {
    host: '',
    person(login) {
      logins.add(login)
      return login
    },
    repository: (fullName) => fullName,
  })
  return logins
}

const MAX_RECORDS_PER_FILE = 100

/**
 * Yields the records of one kind as the files of an archive, in the given order: numbered from 1 without gaps, at most 100
 * records in each, and no file without records. Only one file is in memory at a time.
 */
export async function* splitIntoFiles(
  kind: string,
  records: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<{ name: string; text: string }> {
  let written: string[] = []
  let number = 0
  const file = () => ({
    name: `${kind}_${String(++number).padStart(6, '0')}.json`,
    text: `[\n${written.join(',\n')}\n]\n`,
  })
  for await (const githubRecord of records) {
    written.push(indented(githubRecord))
    if (written.length < MAX_RECORDS_PER_FILE) continue
    yield file()
    written = []
  }
  if (written.length > 0) yield file()
}

function indented(githubRecord: unknown): string {
  // A regular expression with ^ would also match after a U+2028 within a string.
  return `  ${JSON.stringify(githubRecord, null, 2).replaceAll('\n', '\n  ')}`
}
