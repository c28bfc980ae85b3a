import { type DumpedValue, parseDump } from './dumped-data.ts'

/** One line of the configuration: its number, what it permits (`R`, `RW+`, `-`, …) and the refs it is about. */
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

/** By repository, pattern or group of repositories; then by user or group of users. */
export type RulesByName = Map<string, Map<string, Rule[]>>

export interface CompiledConf {
  rules: RulesByName
  options: Map<string, Option[]>
  /** The groups that a user, a repository or a pattern is in. */
  groups: Map<string, string[]>
  /** What of these is a pattern. */
  groupPatterns: string[]
  /** Repositories whose own rules are in a file of theirs. */
  split: Set<string>
}

const KNOWN_EDITION = '3.2'

/** `conf/gitolite.conf-compiled.pm`. */
export function parseCompiledConf(text: string): CompiledConf {
  const variables = parseDump(text)
  const edition = variables.get('data_version')
  if (edition !== KNOWN_EDITION) throw new Error(`data version ${edition} is not known`)
  const hash = (name: string) => asHash(variables.get(name) ?? new Map())
  return {
    ...rulesAndOptions(hash('repos'), hash('configs')),
    groups: mapped(hash('groups'), (names) => asList(names).map(asText)),
    groupPatterns: [...asHash(hash('patterns').get('groups') ?? new Map()).keys()],
    split: new Set(hash('split_conf').keys()),
  }
}

/** A repository's own `gl-conf`. */
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
    rules: mapped(repos, (users) => mapped(asHash(users), (rules) => asList(rules).map(ruleOf))),
    options: mapped(configs, (options) => asList(options).map(optionOf)),
  }
}

function mapped<T>(hash: Map<string, DumpedValue>, of: (value: DumpedValue) => T): Map<string, T> {
  return new Map([...hash].map(([key, value]) => [key, of(value)]))
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
