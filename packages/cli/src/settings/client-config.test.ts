import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { readClientConfig } from './client-config.ts'
import { findConfigFile } from './config-file.ts'

const url = 'http://127.0.0.1:3000'

test('--token overrides the token file, and the file overrides the environment', (t) => {
  const file = join(temporaryDirectory(t), 'token')
  writeFileSync(file, ' from-the-file\n')
  const env = { GODWIT_URL: `${url}/`, GODWIT_TOKEN_FILE: file, GODWIT_TOKEN: 'from-env' }
  assert.equal(readClientConfig({}, env).url, url)
  assert.equal(readClientConfig({ token: 'argument' }, env).token, 'argument')
  assert.equal(readClientConfig({}, env).token, 'from-the-file')
  assert.equal(readClientConfig({}, { ...env, GODWIT_TOKEN_FILE: '' }).token, 'from-env')
})

test('GITHUB_TOKEN is sent only to GitHub', () => {
  const env = { GITHUB_TOKEN: 'ghp_x' }
  for (const address of ['https://api.github.com', 'https://api.tenant.ghe.com'])
    assert.equal(readClientConfig({ url: address }, env).token, 'ghp_x')
  for (const address of [url, 'https://evilgithub.com', 'https://github.com.example.com'])
    assert.throws(() => readClientConfig({ url: address }, env), /no access token/)
})

test('the token of a configuration file is found for every spelling of its server', (t) => {
  const flag = join(temporaryDirectory(t), 'config')
  writeFileSync(flag, 'url = https://git.example.com/api\ntoken = from-the-file\n')
  const file = findConfigFile({ flag, variable: undefined })
  const tokenFor = (address: string) => readClientConfig({ url: address }, {}, file).token
  for (const address of ['https://git.example.com:443/api/', 'https://GIT.example.com/api'])
    assert.equal(tokenFor(address), 'from-the-file')
  for (const address of ['http://git.example.com/api', 'https://git.example.com'])
    assert.throws(() => tokenFor(address), /no access token/)
})

test('the user is warned of a token in the arguments or without encryption', () => {
  const warnings = (flags: object, env: object) =>
    readClientConfig(flags, { GODWIT_TOKEN: 't', ...env }).warnings
  assert.deepEqual(warnings({ url }, {}), [])
  assert.match(warnings({ url, token: 'x' }, {})[0]!, /can see a token/)
  assert.match(
    warnings({ url: 'http://git.example.com' }, {})[0]!,
    /git.example.com without encryption/,
  )
  assert.deepEqual(warnings({ url: 'https://git.example.com' }, {}), [])
})

test('an invalid token is rejected without showing it', () => {
  const messageFor = (token: string) => {
    try {
      readClientConfig({ url }, { GODWIT_TOKEN: token })
      return ''
    } catch (error) {
      return String(error)
    }
  }
  for (const token of ['two words', 'line\nbreak', 'größe']) {
    assert.match(messageFor(token), /the token contains spaces/)
    assert.ok(!messageFor(token).includes(token))
  }
  assert.throws(
    () => readClientConfig({}, { GODWIT_TOKEN: 't' }),
    /no server: run `godwit auth login`, give --url/,
  )
  assert.throws(() => readClientConfig({ url }, { GODWIT_TOKN: 't' }), /GODWIT_TOKN: unknown/)
})
