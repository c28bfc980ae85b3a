import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryDirectory } from './odd-repositories.ts'
import { type Desk, desk } from './without-server.ts'

export interface ClientDesk extends Desk {
  /** `godwit migration …`, which must end with this code; what it said holds no token. */
  migration(code: number, ...args: string[]): Promise<{ out: string; err: string }>
  /** The same for `godwit schedule …`. */
  schedule(code: number, ...args: string[]): Promise<{ out: string; err: string }>
  /** And for `godwit webhook …`. */
  webhook(code: number, ...args: string[]): Promise<{ out: string; err: string }>
}

/** A desk at which a server and a token are known, the token by a file. */
export async function clientDesk(
  t: Pick<TestContext, 'after'>,
  { url, token }: { url: string; token: string },
): Promise<ClientDesk> {
  const file = join(temporaryDirectory(t), 'token')
  writeFileSync(file, `${token}\n`, { mode: 0o600 })
  const at = await desk(t, { GODWIT_URL: url, GODWIT_TOKEN_FILE: file })
  const running =
    (command: string) =>
    async (code: number, ...args: string[]) => {
      const { stdout, stderr, said, ...ended } = await at.godwit([command, ...args])
      assert.equal(ended.code, code, said)
      assert.ok(!said.includes(token.slice(4)), 'the token was said')
      return { out: stdout.toString().trimEnd(), err: stderr }
    }
  return {
    ...at,
    migration: running('migration'),
    schedule: running('schedule'),
    webhook: running('webhook'),
  }
}
