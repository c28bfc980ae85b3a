/** Control characters, which stand in no address: JSON has them as their numbers, and so they are found in its text. */
export const valueMark = (name: string): string => `\u0001${name}\u0003`
/** Stands within a string that has more in it. */
export const partMark = (name: string): string => `\u0002${name}\u0003`
const MARK = /"\\u0001(\w+)\\u0003"|\\u000[12](\w+)\\u0003/

/** Text in which one mark stands, once or several times. */
interface MarkedText {
  mark: string
  /** What stands around the mark, but for what stands before its first occurrence. */
  between: string[]
}

/**
 * JSON with marks in it. An object is rendered once, of marks instead of values, and cut at them: what stands between them is
 * the same for all such objects. Filling in values is several times as fast as rendering them.
 */
export interface JsonTemplate {
  opening: string
  runs: MarkedText[]
}

/** Members that are computed become marks too, under their own names. */
export function templateOf(shown: object, computed: ReadonlySet<string>): JsonTemplate {
  const text = JSON.stringify(shown, (name, value) =>
    computed.has(name) ? valueMark(name) : value,
  )
  const [opening, ...pieces] = text.split(new RegExp(MARK, 'g'))
  const runs: MarkedText[] = []
  for (let at = 0; at < pieces.length; at += 3) {
    const mark = pieces[at] ?? pieces[at + 1]!
    const last = runs.at(-1)
    // Addresses that begin alike follow each other: they are filled in together.
    if (last?.mark === mark) last.between.push(pieces[at + 2]!)
    else runs.push({ mark, between: ['', pieces[at + 2]!] })
  }
  return { opening: opening!, runs }
}

/** JSON for a mark, or what stands between the quotes where it is part of a string. */
export type JsonOf<Values> = (values: Values) => string | undefined

/** Undefined where a mark has none: an object of an older time may lack it. */
export function filling<Values>(
  { opening, runs }: JsonTemplate,
  jsonOf: (mark: string) => JsonOf<Values>,
): JsonOf<Values> {
  const steps = runs.map(({ mark, between }) => ({ value: jsonOf(mark), between }))
  return (values) => {
    let text = opening
    for (const { value, between } of steps) {
      const json = value(values)
      if (json === undefined) return undefined
      for (let at = 1; at < between.length; at++) {
        text += json
        text += between[at]!
      }
    }
    return text
  }
}
