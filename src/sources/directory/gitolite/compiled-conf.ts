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
  const { data_version: version, repos, configs, groups, patterns, split_conf } = parseDump(text)
  if (version !== SUPPORTED_VERSION) throw new Error(`unsupported data version: ${version}`)
  return {
    ...convertRulesAndOptions(repos, configs),
    groups: mapValues(groups, (names) => asList(names).map(asString)),
    groupPatterns: Object.keys(asHash(asHash(patterns).groups)),
    split: new Set(Object.keys(asHash(split_conf))),
  }
}

/** Parses the `gl-conf` of one repository. Throws if its format is not supported. */
export function parseRepositoryConf(text: string): Pick<CompiledConf, 'rules' | 'options'> {
  const { one_repo, one_config } = parseDump(text)
  return convertRulesAndOptions(one_repo, one_config)
}

function convertRulesAndOptions(repos: DumpedValue | undefined, configs: DumpedValue | undefined) {
  const toRule = (dumped: DumpedValue): Rule => {
    const [order, permission, refs] = asList(dumped)
    return { order: Number(order), permission: asString(permission), refs: asString(refs) }
  }
  const toOption = (dumped: DumpedValue): Option => {
    const [order, key, value] = asList(dumped)
    return { order: Number(order), key: asString(key), value: asString(value) }
  }
  return {
    rules: mapValues(repos, (users) => mapValues(users, (rules) => asList(rules).map(toRule))),
    options: mapValues(configs, (options) => asList(options).map(toOption)),
  }
}

function mapValues<T>(
  hash: DumpedValue | undefined,
  convert: (value: DumpedValue) => T,
): Map<string, T> {
  return new Map(Object.entries(asHash(hash)).map(([key, value]) => [key, convert(value)]))
}

/** A hash that the file does not have is empty. */
function asHash(dumped: DumpedValue = {}): DumpedHash {
  if (typeof dumped === 'object' && dumped !== null && !Array.isArray(dumped)) return dumped
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

/** A value as Perl's Data::Dumper prints it. */
type DumpedValue = string | number | null | DumpedValue[] | DumpedHash
interface DumpedHash {
  [key: string]: DumpedValue
}

/** A variable that is assigned, a quoted text, or one of the other tokens of literal data. */
const TOKEN = /[%$](\w+)\s*=(?!>)|'((?:[^'\\]|\\.)*)'|-?\d+(?:\.\d+)?|undef\b|=>|[()[\]{},;]|\s+/sy
const AS_JSON: Readonly<Record<string, string>> = {
  ...{ '=>': ':', '(': '{', ')': '}', ';': ',' },
  undef: 'null',
}

/**
 * Parses the Perl code in which gitolite stores its compiled configuration: a sequence of `%name = ( … );` and `$name = …;`. The
 * code is not executed, but converted to JSON. Throws if it contains anything but literal data.
 */
export function parseDump(text: string): DumpedHash {
  let json = ''
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at
    const [token, variable, quoted] = TOKEN.exec(text) ?? []
    if (token === undefined) throw new Error(`expected literal data at character ${at}`)
    if (variable !== undefined) json += `"${variable}":`
    else if (quoted !== undefined) json += JSON.stringify(quoted.replace(/\\([\\'])/g, '$1'))
    else json += AS_JSON[token] ?? token
  }
  try {
    return JSON.parse(`{${json.trim().replace(/,$/, '')}}`)
  } catch (error) {
    // The message would quote the text.
    throw new Error('expected lists and hashes of literal data', { cause: error })
  }
}
