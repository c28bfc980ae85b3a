const RECORDS_IN_A_FILE = 100

export interface WrittenFile {
  /** Such as `issues_000001.json`. */
  name: string
  text: string
  /** How many records it holds. */
  count: number
}

/**
 * The records of one kind as the files of an archive, in the order they come: numbered from 1 without gaps, at most 100 in
 * each, none where there are no records. Holds one file at a time, so that there may be any number of them.
 */
export async function* splitIntoFiles(
  kind: string,
  records: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncGenerator<WrittenFile> {
  let written: string[] = []
  let number = 0
  const file = (): WrittenFile => ({
    name: `${kind}_${String(++number).padStart(6, '0')}.json`,
    text: `[\n${written.join(',\n')}\n]\n`,
    count: written.length,
  })
  for await (const record of records) {
    written.push(indented(record))
    if (written.length < RECORDS_IN_A_FILE) continue
    yield file()
    written = []
  }
  if (written.length > 0) yield file()
}

function indented(record: unknown): string {
  // Only line ends of our own: a regular expression's ^ also stands behind U+2028 in somebody's text.
  return `  ${JSON.stringify(record, null, 2).replaceAll('\n', '\n  ')}`
}
