/** Swagger UI's lists and maps, as far as they are used here. */
interface Kept<T> {
  filter(keep: (item: T) => boolean): Kept<T>
  map(change: (item: T) => T): Kept<T>
  size: number
}

interface Operation {
  get(name: 'path' | 'method'): string
  getIn(path: string[]): string | undefined
}

interface Group {
  get(name: 'operations'): Kept<Operation>
  set(name: 'operations', operations: Kept<Operation>): Group
}

/** The operations that hold every word, in place of Swagger UI's own search, which looks at groups' names alone. */
export function searchOperations(groups: Kept<Group>, words: string): Kept<Group> {
  return groups
    .map((group) =>
      group.set(
        'operations',
        group.get('operations').filter((operation) => hasWords(textOf(operation), words)),
      ),
    )
    .filter((group) => group.get('operations').size > 0)
}

/** Text in lower case. */
export function hasWords(text: string, words: string): boolean {
  const wanted = words.toLowerCase().split(/\s+/)
  return wanted.every((word) => text.includes(word))
}

function textOf(operation: Operation): string {
  const told = ['summary', 'description', 'operationId']
  const texts = told.map((name) => operation.getIn(['operation', name]) ?? '')
  return [operation.get('method'), operation.get('path'), ...texts].join(' ').toLowerCase()
}
