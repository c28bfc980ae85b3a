/** A line of the configuration: its number, its permission (`R`, `RW+`, `-`, …) and the refs that it applies to. */
export interface Rule {
  order: number
  permission: string
  refs: string
}

interface Option {
  order: number
  key: string
  value: string
}

/** Rules by repository, pattern or group of repositories, then by user or group of users. */
type RulesByName = Map<string, Map<string, Rule[]>>

export interface CompiledConf {
  rules: RulesByName
  options: Map<string, Option[]>
  /** The groups that a user, a repository or a pattern is in. */
  groups: Map<string, string[]>
  /** The patterns among the keys of `groups`. */
  groupPatterns: string[]
  /** Repositories whose rules are in their own file `gl-conf`. */
  split: Set<string>
}

const SUPPORTED_VERSION = '3.2'

/** Parses `conf/gitolite.conf-compiled.pm`. Throws where it is not as expected. */
export function parseCompiledConf(text: string): CompiledConf {
  const variables = parseDump(text)
  const version = variables.get('data_version')
  if (version !== SUPPORTED_VERSION) throw new Error(`data version ${version} is not known`)
  const hash = (name: string) => asHash(variables.get(name) ?? new Map())
  return {
    ...rulesAndOptions(hash('repos'), hash('configs')),
    groups: mapValues(hash('groups'), (names) => asList(names).map(asText)),
    groupPatterns: [...asHash(hash('patterns').get('groups') ?? new Map()).keys()],
    split: new Set(hash('split_conf').keys()),
  }
}

/** Parses a repository's own `gl-conf`. Throws where it is not as expected. */
export function parseOwnConf(text: string): Pick<CompiledConf, 'rules' | 'options'> {
  const variables = parseDump(text)
  const hash = (name: string) => asHash(variables.get(name) ?? new Map())
  return rulesAndOptions(hash('one_repo'), hash('one_config'))
}

function rulesAndOptions(repos: Map<string, DumpedValue>, configs: Map<string, DumpedValue>) {
  const ruleOf = (dumped: DumpedValue): Rule => {
    const [order, permission, refs] = asList(dumped)
    return { order: Number(order), permission: asText(permission), refs: asText(refs) }
  }
  const optionOf = (dumped: DumpedValue): Option => {
    const [order, key, value] = asList(dumped)
    return { order: Number(order), key: asText(key), value: asText(value) }
  }
  return {
    rules: mapValues(repos, (users) =>
      mapValues(asHash(users), (rules) => asList(rules).map(ruleOf)),
    ),
    options: mapValues(configs, (options) => asList(options).map(optionOf)),
  }
}

function mapValues<T>(
  hash: Map<string, DumpedValue>,
  convert: (value: DumpedValue) => T,
): Map<string, T> {
  return new Map([...hash].map(([key, value]) => [key, convert(value)]))
}

function asHash(dumped: DumpedValue): Map<string, DumpedValue> {
  if (dumped instanceof Map) return dumped
  throw new Error('a hash expected')
}

function asList(dumped: DumpedValue): DumpedValue[] {
  if (Array.isArray(dumped)) return dumped
  throw new Error('a list expected')
}

function asText(dumped: DumpedValue | undefined): string {
  if (typeof dumped === 'string' || typeof dumped === 'number') return String(dumped)
  throw new Error('a text expected')
}

/** A value as Perl's Data::Dumper prints it; a hash is a Map. */
type DumpedValue = string | number | null | DumpedValue[] | Map<string, DumpedValue>

const SPACE = /\s*/y
const VARIABLE = /[%$@](\w+)\s*=\s*/y
const QUOTED = /'((?:[^'\\]|\\.)*)'/sy
const NUMBER = /-?\d+(?:\.\d+)?/y
const MAX_DEPTH = 20

/**
 * Parses a sequence of `%name = ( … );` and `$name = …;`, in which gitolite stores its compiled configuration as Perl code. Nothing is
 * executed. Throws for anything but plain data.
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

  function expect(token: string): void {
    take(SPACE)
    if (!text.startsWith(token, at)) throw new Error(`"${token}" expected at character ${at}`)
    at += token.length
  }

  function isNext(token: string): boolean {
    take(SPACE)
    return text.startsWith(token, at)
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
    if (depth > MAX_DEPTH) throw new Error('too deep')
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
