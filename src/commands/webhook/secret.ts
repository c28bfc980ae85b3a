import { readFileSync } from 'node:fs'
import { UsageError, UserError } from '../../lib/user-error.ts'

interface SecretFlags {
  secretFile?: string
  /** True for that of the environment, false for none. */
  secret?: boolean
}

const STDIN = 0
const VARIABLE = 'GODWIT_WEBHOOK_SECRET'

type Environment = Readonly<Record<string, string | undefined>>

/** A new webhook takes what there is; a secret that others know already is replaced only where that is asked for. */
export const secretOfNew = (flags: SecretFlags, env: Environment): SecretFlags =>
  flags.secretFile === undefined && env[VARIABLE] ? { secret: true } : {}

/**
 * From a file, from standard input (`-`) or from the environment: arguments are seen by every user of a machine. Undefined where
 * nothing is said of it, empty where there is to be none.
 */
export function webhookSecret(
  { secretFile, secret }: SecretFlags,
  env: Environment,
): string | undefined {
  if (secret !== undefined && secretFile !== undefined)
    throw new UsageError(`--${secret ? '' : 'no-'}secret and --secret-file exclude each other`)
  if (secret === false) return ''
  if (secret) return env[VARIABLE] || refuseNone(`--secret: ${VARIABLE} is not set`)
  if (secretFile === undefined) return undefined
  const read = readSecret(secretFile)
  return read || refuseNone(`${secretFile} contains no secret`)
}

function refuseNone(why: string): never {
  throw new UserError(why)
}

function readSecret(file: string): string {
  try {
    return readFileSync(file === '-' ? STDIN : file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new UserError(`the secret cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
