import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startForge } from '../../../../../test/support/forge/fake-forge.ts'
import { freePort } from '../../../../../test/support/free-port.ts'
import { temporaryDirectory } from '../../../../../test/support/sample-repositories.ts'
import { UsageError } from '../../../../lib/src/user-error.ts'
import { readConfig } from '../../settings/config.ts'
import { checkForge } from './check-forge.ts'

async function tokenFile(t: TestContext, token: string, mode = 0o600): Promise<string> {
  const file = join(temporaryDirectory(t), 'token')
  await writeFile(file, `${token}\n`)
  await chmod(file, mode)
  return file
}

const check = (flags: Record<string, string>) => Array.fromAsync(checkForge(readConfig(flags, {})))
const errorText = (results: Awaited<ReturnType<typeof check>>) =>
  results.map(({ check: name, state, found }) => `${name} ${state}: ${found}`)

test("a forge that answers to an administrator's token passes", async (t) => {
  const forge = await startForge()
  t.after(() => forge.stop())
  const forgeTokenFile = await tokenFile(t, 'admin-token')
  assert.deepEqual(errorText(await check({ forge: forge.url, forgeTokenFile })), [
    `forge-token passed: ${forgeTokenFile}, readable`,
    `forge passed: Gitea ${forge.dialect.version} at ${forge.url}`,
  ])
  await chmod(forgeTokenFile, 0o644)
  const [token] = await check({ forge: `${forge.url}/api/v1/`, forgeTokenFile })
  assert.equal(token?.state, 'warning')
})

test('an invalid, empty or unprivileged token is reported without showing it', async (t) => {
  const forge = await startForge()
  t.after(() => forge.stop())
  forge.tokens.set('anns-token', forge.world.addUser('ann'))
  const resultsWith = async (token: string) =>
    check({ forge: forge.url, forgeTokenFile: await tokenFile(t, token) })
  assert.match(errorText(await resultsWith('anns-token')).join('\n'), /not an administrator's/)
  const wrong = errorText(await resultsWith('wrong-token')).join('\n')
  assert.match(wrong, /forge error: .* does not accept the token/)
  assert.doesNotMatch(wrong, /wrong-token/)
  assert.match(errorText(await resultsWith('')).join('\n'), /forge-token error: .* is empty/)
  const lines = errorText(await resultsWith('one\ntwo')).join('\n')
  assert.match(lines, /holds more than a token/)
  assert.doesNotMatch(lines, /one/)
})

test('a token that may not act for other users is reported', async (t) => {
  const forge = await startForge()
  t.after(() => forge.stop())
  forge.faultFor = ({ query }) =>
    query.has('sudo') ? { response: { status: 403, body: { message: 'no scope' } } } : undefined
  const forgeTokenFile = await tokenFile(t, 'admin-token')
  const results = await check({ forge: forge.url, forgeTokenFile })
  assert.match(
    errorText(results).at(-1) ?? '',
    /^forge-token error: .* may not read the permissions of users/,
  )
})

test('an unavailable forge is reported', async (t) => {
  const forgeTokenFile = await tokenFile(t, 'admin-token')
  const [, result] = await check({ forge: `http://127.0.0.1:${await freePort()}`, forgeTokenFile })
  assert.equal(result?.state, 'error')
  assert.match(result?.found ?? '', /nothing responds at/)
})

test('one setting of the forge without the other is reported', async (t) => {
  await assert.rejects(check({ forge: 'http://127.0.0.1:1' }), UsageError)
  await assert.rejects(check({ forgeTokenFile: await tokenFile(t, 'x') }), UsageError)
})
