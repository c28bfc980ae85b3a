import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { readClientConfig } from './client-config.ts'
import { findConfigFile } from './config-file.ts'
import { formatServers, readUserServers, type UserServers } from './user-servers.ts'

const HERE = 'https://godwit.example.com'
const OTHER = 'https://other.example.com'

const user = (active: string | undefined = HERE): UserServers => ({
  path: '/home/alice/.config/godwit/servers.json',
  active,
  servers: new Map([
    [HERE, { login: 'alice', token: 'for-here' }],
    [OTHER, { login: 'ally', token: 'for-other' }],
  ]),
  isExposed: false,
})

test('the active server and its token are used if nothing else is given', () => {
  const config = readClientConfig({}, {}, undefined, user())
  assert.deepEqual([config.url, config.token, config.tokenFrom], [HERE, 'for-here', user().path])
  const other = readClientConfig({ url: `${OTHER.toUpperCase()}:443/` }, {}, undefined, user())
  assert.equal(other.token, 'for-other')
})

test('a stored token is used for its own server only', () => {
  for (const url of [
    'http://godwit.example.com',
    'https://godwit.example.com:8443',
    'https://godwit.example.com/api',
    'https://godwit.example.com.evil.example',
    'https://example.com',
  ]) {
    assert.throws(
      () => readClientConfig({ url }, {}, undefined, user()),
      new RegExp(`no access token for ${url}: run .godwit auth login --url`),
    )
  }
})

test('flags and the environment override a stored login, which overrides the default file', (t) => {
  const path = join(temporaryDirectory(t), 'config')
  writeFileSync(path, `url = ${OTHER}\ntoken = of-the-file\n`, { mode: 0o600 })
  const none = { flag: undefined, variable: undefined }
  const byDefault = findConfigFile(none, path)
  const read = (flags: object, env: object, file = byDefault) => {
    const { url, token } = readClientConfig(flags, { ...env }, file, user())
    return [url, token]
  }
  assert.deepEqual(read({}, {}), [HERE, 'for-here'])
  assert.deepEqual(read({}, { GODWIT_TOKEN: 'variable' }), [HERE, 'variable'])
  assert.deepEqual(read({}, { GODWIT_URL: OTHER }), [OTHER, 'for-other'])
  assert.deepEqual(read({ url: OTHER, token: 'flag' }, { GODWIT_TOKEN: 'v' }), [OTHER, 'flag'])
  // A file that is named is as explicit as a flag.
  assert.deepEqual(read({}, {}, findConfigFile({ ...none, flag: path })), [OTHER, 'of-the-file'])
  const nobody = { ...user(), active: undefined, servers: new Map() }
  assert.equal(readClientConfig({}, {}, byDefault, nobody).token, 'of-the-file')
})

test('the file is in XDG_CONFIG_HOME, else in ~/.config, and need not exist', (t) => {
  const home = temporaryDirectory(t)
  const pathFor = (env: object) => readUserServers({ HOME: home, ...env }).path
  assert.equal(pathFor({}), join(home, '.config/godwit/servers.json'))
  assert.equal(pathFor({ XDG_CONFIG_HOME: '/elsewhere' }), '/elsewhere/godwit/servers.json')
  assert.equal(pathFor({ XDG_CONFIG_HOME: 'relative' }), pathFor({}))
  assert.equal(readUserServers({ HOME: home }).servers.size, 0)
})

test('an invalid file is reported without its content, and an exposed one with a warning', (t) => {
  const home = temporaryDirectory(t)
  const { path } = readUserServers({ HOME: home })
  mkdirSync(join(home, '.config/godwit'), { recursive: true })
  for (const text of ['{"servers": {"https://x": {"token": "c4n4ry"}}}', 'c4n4ry', '[]', '{}']) {
    writeFileSync(path, text)
    assert.throws(
      () => readUserServers({ HOME: home }),
      (error: Error) =>
        error.message.startsWith(`${path} is invalid`) && !/c4n4ry/.test(error.message),
    )
  }
  writeFileSync(path, formatServers(user()))
  const read = () => readUserServers({ HOME: home })
  chmodSync(path, 0o600)
  assert.deepEqual(read(), { ...user(), path })
  assert.deepEqual(readClientConfig({}, {}, undefined, read()).warnings, [])
  chmodSync(path, 0o640)
  assert.match(readClientConfig({}, {}, undefined, read()).warnings.join(), /chmod 600/)
})
