/** A value as Perl's Data::Dumper writes it; a hash is a Map. */
export type DumpedValue = string | number | null | DumpedValue[] | Map<string, DumpedValue>

const SPACE = /\s*/y
const VARIABLE = /[%$@](\w+)\s*=\s*/y
const QUOTED = /'((?:[^'\\]|\\.)*)'/sy
const NUMBER = /-?\d+(?:\.\d+)?/y
const DEEPEST = 20

/**
 * Reads `%name = ( … );` and `$name = …;` one after the other. Gitolite keeps what it has compiled so, for Perl to run; nothing
 * is run here. Throws where there is anything but plain data.
 */
export function parseDump(text: string): Map<string, DumpedValue> {
  const variables = new Map<string, DumpedValue>()
  let at = 0

  function take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }

  function expect(sign: string): void {
    take(SPACE)
    if (!text.startsWith(sign, at)) throw new Error(`"${sign}" expected at character ${at}`)
    at += sign.length
  }

  function isNext(sign: string): boolean {
    take(SPACE)
    return text.startsWith(sign, at)
  }

  function list<T>(end: string, item: () => T): T[] {
    const items: T[] = []
    while (!isNext(end)) {
      items.push(item())
      if (!isNext(',')) break
      expect(',')
    }
    expect(end)
    return items
  }

  function pair(depth: number): [string, DumpedValue] {
    const key = value(depth)
    expect('=>')
    return [String(key), value(depth)]
  }

  function value(depth = 0): DumpedValue {
    if (depth > DEEPEST) throw new Error('too deep')
    take(SPACE)
    const quoted = take(QUOTED)
    if (quoted) return quoted[1]!.replace(/\\([\\'])/g, '$1')
    const number = take(NUMBER)
    if (number) return Number(number[0])
    if (take(/undef\b/y)) return null
    if (isNext('[')) {
      expect('[')
      return list(']', () => value(depth + 1))
    }
    expect('{')
    return new Map(list('}', () => pair(depth + 1)))
  }

  take(SPACE)
  while (at < text.length) {
    const variable = take(VARIABLE)
    if (!variable) throw new Error(`a variable expected at character ${at}`)
    if (isNext('(')) {
      expect('(')
      variables.set(variable[1]!, new Map(list(')', () => pair(0))))
    } else {
      variables.set(variable[1]!, value())
    }
    expect(';')
    take(SPACE)
  }
  return variables
}
