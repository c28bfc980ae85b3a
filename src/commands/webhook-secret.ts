import { readFileSync } from 'node:fs'
import { Misuse, UserMistake } from '../user-mistake.ts'

interface SecretFlags {
  secretFile?: string
  /** False for `--no-secret`. */
  secret?: boolean
}

const STDIN = 0

/**
 * From a file, from standard input (`-`) or from the environment: arguments are seen by every user of a machine. Undefined where
 * nothing is said of it, empty where there is to be none.
 */
export function webhookSecret(
  { secretFile, secret }: SecretFlags,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (secret === false) {
    if (secretFile !== undefined)
      throw new Misuse('--no-secret and --secret-file exclude each other')
    return ''
  }
  if (secretFile === undefined) return env.GODWIT_WEBHOOK_SECRET || undefined
  const read = readSecret(secretFile)
  if (read === '') throw new UserMistake(`${secretFile} contains no secret`)
  return read
}

function readSecret(file: string): string {
  try {
    return readFileSync(file === '-' ? STDIN : file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new UserMistake(`the secret cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
