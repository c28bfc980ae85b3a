import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasCode } from '@godwit/lib/errno'
import type { Environment } from './setting-names.ts'

/** Variables that Godwit, the SDK of the bucket and the client of PostgreSQL read. No others are taken from the file. */
const READ = /^(?:AWS_|GODWIT_|PG[A-Z])/

/**
 * Reads the file `environment` beside the configuration file. The units of the Debian package pass it to the service, so the commands of
 * the operator must have the same variables. Returns nothing if it does not exist, or this user may not read it.
 */
export function readEnvironmentFile(configFile: string): Environment {
  let text: string
  try {
    text = readFileSync(join(dirname(configFile), 'environment'), 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR')) return {}
    throw error
  }
  return Object.fromEntries(text.split('\n').flatMap(parseLine))
}

/** Parses `NAME=value` or `NAME="value"` as systemd does. Comments begin with # or ;. */
function parseLine(line: string): [string, string][] {
  const [, name, value = ''] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
  if (name === undefined || !READ.test(name)) return []
  const [, , quoted] = /^(["'])(.*)\1$/.exec(value) ?? []
  return [[name, quoted ?? value]]
}
