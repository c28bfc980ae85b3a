import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { ConfigError } from '../../../lib/src/user-error.ts'
import { readClientConfig } from './client-config.ts'
import { readConfig } from './config.ts'
import { findConfigFile, readConfigLines } from './config-file.ts'
import { fileNameOf, optionNames } from './setting-names.ts'

function written(t: TestContext, text: string): string {
  const path = join(temporaryDirectory(t), 'config')
  writeFileSync(path, text)
  return path
}

const fileAt = (path: string) => findConfigFile({ flag: path, variable: undefined })!
const fileOf = (t: TestContext, text: string) => fileAt(written(t, text))
const valuesOf = (text: string) =>
  readConfigLines(text, 'F').lines.map(({ name, text }) => [name, text])

function mistakesIn(act: () => unknown): readonly string[] {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.mistakes
  }
  return assert.fail('nothing is wrong')
}

test('a line contains a name and a value, and may have comments', () => {
  const text = `\uFEFF# The service.
repositories = /srv/git

  listen=0.0.0.0:80   # behind the proxy
data /var/lib/godwit\r
web-url = https://git.example.com/#/{owner}/{name}
git = "/opt/my git/bin/git" # quoted
vendor = 'it # is "quoted"'
ssh-url = "a \\"b\\" \\\\ c"
`
  assert.deepEqual(valuesOf(text), [
    ['repositories', '/srv/git'],
    ['listen', '0.0.0.0:80'],
    ['data', '/var/lib/godwit'],
    ['web-url', 'https://git.example.com/#/{owner}/{name}'],
    ['git', '/opt/my git/bin/git'],
    ['vendor', 'it # is "quoted"'],
    ['ssh-url', 'a "b" \\ c'],
  ])
})

test('every setting can be set in the file by the name of its flag', (t) => {
  const value = 'value'
  const text = optionNames.map((name) => `${fileNameOf(name)} = ${value}\n`).join('')
  assert.deepEqual(
    valuesOf(text),
    optionNames.map((name) => [fileNameOf(name), value]),
  )
  const { listen, vendor } = readConfig(
    {},
    {},
    { file: fileOf(t, 'vendor = forge\nlisten = [::1]:81\n') },
  )
  assert.deepEqual([listen, vendor], [{ host: '::1', port: 81 }, 'forge'])
})

test('flags override the environment, the environment the file, and the file defaults', (t) => {
  const file = fileOf(t, 'vendor = file\npreview = optional\ntime-zone = Europe/Berlin\n')
  const config = readConfig({ vendor: 'flag' }, { GODWIT_PREVIEW: 'required' }, { file })
  assert.deepEqual(
    [config.vendor, config.preview, config.timeZone, config.linkTtl],
    ['flag', 'required', 'Europe/Berlin', 300_000],
  )
})

test('a list may be on several lines, any other setting only on one', (t) => {
  const file = fileOf(t, 'trusted-proxies = 10.0.0.1, 10.0.0.2\ntrusted-proxies = ::1\n')
  const { trustedProxies } = readConfig({}, {}, { file })
  assert.deepEqual(trustedProxies, ['10.0.0.1', '10.0.0.2', '::1'])
  const twice = fileOf(t, '\nvendor = a\nvendor = b\n')
  assert.deepEqual(
    mistakesIn(() => readConfig({}, {}, { file: twice })),
    [`${twice.path}:3: vendor: set twice; line 2 sets it too`],
  )
})

test('all wrong lines are reported together, with file and line number', (t) => {
  const file = fileOf(
    t,
    `listne = 127.0.0.1:80
--data = /x
GODWIT_BASE_URL=https://x
nothing-like-it = 1
[server]
= 5
forge =
web-url = "unclosed
git = 'a' b
listen = nowhere
data = ~/godwit
`,
  )
  const at = (line: number) => `${file.path}:${line}: `
  assert.deepEqual(
    [...mistakesIn(() => readConfig({}, {}, { file }))].sort(),
    [
      `${at(1)}listne: unknown setting; did you mean listen?`,
      `${at(2)}--data: unknown setting; did you mean data?`,
      `${at(3)}GODWIT_BASE_URL: unknown setting; did you mean base-url?`,
      `${at(4)}nothing-like-it: unknown setting`,
      `${at(5)}not a setting: write NAME = VALUE, or begin the line with # for a comment`,
      `${at(6)}not a setting: write NAME = VALUE, or begin the line with # for a comment`,
      `${at(7)}forge: no value; remove the line, or put # before it`,
      `${at(8)}web-url: the quotes are not closed, or text follows them`,
      `${at(9)}git: the quotes are not closed, or text follows them`,
      `${at(10)}listen: must be HOST:PORT, such as 127.0.0.1:3000`,
      `${at(11)}data: ~ is not expanded here; write the absolute path`,
    ].sort(),
  )
})

test('a relative path is relative to the configuration file', (t) => {
  const file = fileOf(t, 'data = var\nrepositories = ../git\n')
  const { data, repositories } = readConfig({}, {}, { file })
  assert.equal(data, join(dirname(file.path), 'var'))
  assert.equal(repositories, join(dirname(dirname(file.path)), 'git'))
})

test('a named file must exist; the default file may be missing or unreadable', (t) => {
  const folder = temporaryDirectory(t)
  const gone = join(folder, 'gone')
  for (const [named, spelt] of [
    [{ flag: gone, variable: '/dev/null' }, '--config'],
    [{ flag: undefined, variable: gone }, 'GODWIT_CONFIG'],
  ] as const)
    assert.deepEqual(
      mistakesIn(() => findConfigFile(named)),
      [`${spelt}: file ${gone} does not exist`],
    )
  const isFolder = { flag: folder, variable: undefined }
  assert.deepEqual(
    mistakesIn(() => findConfigFile(isFolder)),
    [`--config: ${folder} is a directory`],
  )
  const nothing = { flag: undefined, variable: '' }
  assert.equal(findConfigFile(nothing, gone), undefined)
  assert.deepEqual(
    findConfigFile({ flag: undefined, variable: '/dev/null' }, gone)?.settings.size,
    0,
  )
  writeFileSync(gone, 'vendor = forge\n')
  const { from, settings } = findConfigFile(nothing, gone)!
  assert.deepEqual([from, settings.size], ['default', 1])
})

test('an unreadable default file is reported as denied', {
  skip: process.getuid?.() === 0 && 'root may read every file',
}, (t) => {
  const folder = join(temporaryDirectory(t), 'etc')
  mkdirSync(folder)
  const path = join(folder, 'config')
  writeFileSync(path, 'vendor = forge\n')
  chmodSync(path, 0o000)
  const nothing = { flag: undefined, variable: undefined }
  assert.equal(findConfigFile(nothing, path)?.isDenied, true)
  assert.deepEqual(
    mistakesIn(() => fileAt(path)),
    [`--config: this user may not read ${path}`],
  )
})

const SECRET = 'postgres://godwit:s3cret@db/godwit'

test('a world-readable file with secrets gives a warning that does not show them', (t) => {
  const path = written(t, `database-url = ${SECRET}\nurl = http://127.0.0.1:3000\ntoken = t0ken\n`)
  const config = readConfig({}, {}, { file: fileAt(path) })
  assert.ok(!JSON.stringify(config.file).includes('s3cret'))
  assert.deepEqual(config.file?.exposedSecrets, ['database-url', 'token'])
  chmodSync(path, 0o640)
  assert.deepEqual(readConfig({}, {}, { file: fileAt(path) }).file?.exposedSecrets, [])
  const harmless = fileOf(t, 'database-url = postgres://db/godwit\nvendor = forge\n')
  assert.deepEqual(readConfig({}, {}, { file: harmless }).file?.exposedSecrets, [])
})

test('a client uses the token of the file only for the server of the file', (t) => {
  const folder = temporaryDirectory(t)
  const text = 'url = https://migrations.example.com/\ntoken-file = token\nvendor = forge\n'
  writeFileSync(join(folder, 'config'), text)
  writeFileSync(join(folder, 'token'), 'of-the-file\n')
  const file = fileAt(join(folder, 'config'))
  const { url, token, vendor } = readClientConfig({}, {}, file)
  assert.deepEqual([url, token, vendor], ['https://migrations.example.com', 'of-the-file', 'forge'])
  assert.equal(readClientConfig({}, { GODWIT_TOKEN: 'of-env' }, file).token, 'of-env')
  const elsewhere = { GODWIT_URL: 'https://api.github.com' }
  assert.throws(() => readClientConfig({}, elsewhere, file), /no access token/)
  const github = readClientConfig({}, { ...elsewhere, GITHUB_TOKEN: 'ghp' }, file)
  assert.deepEqual([github.token, github.vendor], ['ghp', 'github'])
  const same = { GODWIT_URL: 'https://migrations.example.com' }
  assert.equal(readClientConfig({}, same, file).token, 'of-the-file')
})
