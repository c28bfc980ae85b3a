import { setImmediate as othersTurn } from 'node:timers/promises'

/** What is held of a list whose items come one at a time: how many bytes of JSON they are. */
export interface MeasuredList {
  bytes: number
  /** The same items each time. */
  items(): AsyncIterable<unknown>
}

const ITEMS_IN_A_TURN = 50

export async function measuredList<T>(
  items: () => AsyncIterable<T>,
  onItem: (item: T) => void,
): Promise<MeasuredList> {
  let bytes = 0
  let count = 0
  for await (const item of items()) {
    onItem(item)
    bytes += Buffer.byteLength(itemText(item, count))
    if (++count % ITEMS_IN_A_TURN === 0) await othersTurn()
  }
  return { bytes: count === 0 ? 0 : bytes + LIST_END.length, items }
}

/** A field of the object; lists that are measured are written item by item. */
export type Field = [name: string, value: unknown]

const isMeasured = (value: unknown): value is MeasuredList =>
  typeof value === 'object' && value !== null && 'items' in value

/** How many bytes `textOf` writes of these. */
export function sizeOf(fields: readonly Field[]): number {
  return fields.reduce(
    (size, [name, value], at) =>
      size +
      Buffer.byteLength(fieldText(name, at)) +
      (isMeasured(value) ? 2 + value.bytes : Buffer.byteLength(indented(value, 2))),
    OBJECT_END.length,
  )
}

/** The same text as `JSON.stringify(object, null, 2)` of all at once, and a new line. */
export async function* textOf(fields: readonly Field[]): AsyncGenerator<Buffer> {
  for (const [at, [name, value]] of fields.entries()) {
    yield Buffer.from(fieldText(name, at))
    if (!isMeasured(value)) {
      yield Buffer.from(indented(value, 2))
      continue
    }
    yield Buffer.from('[')
    let count = 0
    for await (const item of value.items()) yield Buffer.from(itemText(item, count++))
    yield Buffer.from(count === 0 ? ']' : `${LIST_END}]`)
  }
  yield Buffer.from(OBJECT_END)
}

const OBJECT_END = '\n}\n'
const LIST_END = '\n  '

const fieldText = (name: string, at: number): string =>
  `${at === 0 ? '{' : ','}\n  ${JSON.stringify(name)}: `

const itemText = (item: unknown, at: number): string =>
  `${at === 0 ? '' : ','}\n    ${indented(item, 4)}`

/** No text within JSON has a new line of its own. */
const indented = (value: unknown, by: number): string =>
  JSON.stringify(value, null, 2).replaceAll('\n', `\n${' '.repeat(by)}`)
