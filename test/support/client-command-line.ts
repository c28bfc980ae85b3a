import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type CommandLine, commandLine } from './command-line.ts'
import { temporaryDirectory } from './sample-repositories.ts'

export interface ClientCommandLine extends CommandLine {
  /** Runs `godwit migration …`, and asserts the exit code and that the output contains no token. */
  migration(code: number, ...args: string[]): Promise<{ out: string; err: string }>
  /** Runs `godwit schedule …`, with the same checks as `migration`. */
  schedule(code: number, ...args: string[]): Promise<{ out: string; err: string }>
  /** Runs `godwit webhook …`, with the same checks as `migration`. */
  webhook(code: number, ...args: string[]): Promise<{ out: string; err: string }>
}

/** Returns a command line that is configured with a server and a token file. */
export async function clientCommandLine(
  t: Pick<TestContext, 'after'>,
  { url, token }: { url: string; token: string },
): Promise<ClientCommandLine> {
  const file = join(temporaryDirectory(t), 'token')
  writeFileSync(file, `${token}\n`, { mode: 0o600 })
  const commands = await commandLine(t, { GODWIT_URL: url, GODWIT_TOKEN_FILE: file })
  const runnerOf =
    (command: string) =>
    async (code: number, ...args: string[]) => {
      const { stdout, stderr, output, ...ended } = await commands.godwit([command, ...args])
      assert.equal(ended.code, code, output)
      assert.ok(!output.includes(token.slice(4)), 'the output contains the token')
      return { out: stdout.toString().trimEnd(), err: stderr }
    }
  return {
    ...commands,
    migration: runnerOf('migration'),
    schedule: runnerOf('schedule'),
    webhook: runnerOf('webhook'),
  }
}
