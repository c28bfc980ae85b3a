/** An access rule: its sequence number, its permission (`R`, `RW+`, `-`, …) and a pattern of the refs that it applies to. */
export interface Rule {
  order: number
  permission: string
  refs: string
}

/** A `config` or `option` line of a repository. */
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
  /** Repositories whose rules are in a separate file, `gl-conf` in the repository. */
  split: Set<string>
}

const SUPPORTED_VERSION = '3.2'

/** Parses `conf/gitolite.conf-compiled.pm`. Throws if its version or format is not supported. */
export function parseCompiledConf(text: string): CompiledConf {
  const variables = parseDump(text)
  const version = variables.get('data_version')
  if (version !== SUPPORTED_VERSION) throw new Error(`unsupported data version: ${version}`)
  const hash = (name: string) => asHash(variables.get(name) ?? new Map())
  return {
    ...convertRulesAndOptions(hash('repos'), hash('configs')),
    groups: mapValues(hash('groups'), (names) => asList(names).map(asString)),
    groupPatterns: [...asHash(hash('patterns').get('groups') ?? new Map()).keys()],
    split: new Set(hash('split_conf').keys()),
  }
}

/** Parses the `gl-conf` of one repository. Throws if its format is not supported. */
export function parseRepositoryConf(text: string): Pick<CompiledConf, 'rules' | 'options'> {
  const variables = parseDump(text)
  const hash = (name: string) => asHash(variables.get(name) ?? new Map())
  return convertRulesAndOptions(hash('one_repo'), hash('one_config'))
}

function convertRulesAndOptions(
  repos: Map<string, DumpedValue>,
  configs: Map<string, DumpedValue>,
) {
  const toRule = (dumped: DumpedValue): Rule => {
    const [order, permission, refs] = asList(dumped)
    return { order: Number(order), permission: asString(permission), refs: asString(refs) }
  }
  const toOption = (dumped: DumpedValue): Option => {
    const [order, key, value] = asList(dumped)
    return { order: Number(order), key: asString(key), value: asString(value) }
  }
  return {
    rules: mapValues(repos, (users) =>
      mapValues(asHash(users), (rules) => asList(rules).map(toRule)),
    ),
    options: mapValues(configs, (options) => asList(options).map(toOption)),
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
  throw new Error('expected a hash')
}

function asList(dumped: DumpedValue): DumpedValue[] {
  if (Array.isArray(dumped)) return dumped
  throw new Error('expected a list')
}

function asString(dumped: DumpedValue | undefined): string {
  if (typeof dumped === 'string' || typeof dumped === 'number') return String(dumped)
  throw new Error('expected a string')
}

/** A value as Perl's Data::Dumper prints it; a hash is a Map. */
type DumpedValue = string | number | null | DumpedValue[] | Map<string, DumpedValue>

const SPACE = /\s*/y
const VARIABLE = /[%$@](\w+)\s*=\s*/y
const QUOTED = /'((?:[^'\\]|\\.)*)'/sy
const NUMBER = /-?\d+(?:\.\d+)?/y
const MAX_DEPTH = 20

/**
 * Parses the Perl code in which gitolite stores its compiled configuration: a sequence of `%name = ( … );` and `$name = …;`. The
 * code is not executed. Throws if it contains anything but literal data.
 */
export function parseDump(text: string): Map<string, DumpedValue> {
  const variables = new Map<string, DumpedValue>()
  let position = 0

  /** Moves past the pattern if it matches at the current position. */
  function consume(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = position
    const match = pattern.exec(text)
    if (match) position = pattern.lastIndex
    return match
  }

  /** Skips white space, then moves past `token` if it follows. */
  function accept(token: string): boolean {
    consume(SPACE)
    const isNext = text.startsWith(token, position)
    if (isNext) position += token.length
    return isNext
  }

  function expect(token: string): void {
    if (!accept(token)) throw new Error(`expected "${token}" at character ${position}`)
  }

  function parseList<T>(end: string, parseItem: () => T): T[] {
    const items: T[] = []
    while (!accept(end)) {
      items.push(parseItem())
      if (accept(',')) continue
      expect(end)
      break
    }
    return items
  }

  function parsePair(depth: number): [string, DumpedValue] {
    const key = parseValue(depth)
    expect('=>')
    return [String(key), parseValue(depth)]
  }

  function parseValue(depth = 0): DumpedValue {
    if (depth > MAX_DEPTH) throw new Error('nested too deeply')
    consume(SPACE)
    const quoted = consume(QUOTED)
    if (quoted) return quoted[1]!.replace(/\\([\\'])/g, '$1')
    const number = consume(NUMBER)
    if (number) return Number(number[0])
    if (consume(/undef\b/y)) return null
    if (accept('[')) return parseList(']', () => parseValue(depth + 1))
    expect('{')
    return new Map(parseList('}', () => parsePair(depth + 1)))
  }

  consume(SPACE)
  while (position < text.length) {
    const variable = consume(VARIABLE)
    if (!variable) throw new Error(`expected a variable at character ${position}`)
    const isHash = accept('(')
    const value = isHash ? new Map(parseList(')', () => parsePair(0))) : parseValue()
    variables.set(variable[1]!, value)
    expect(';')
    consume(SPACE)
  }
  return variables
}
