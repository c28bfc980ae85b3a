import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../../../lib/src/user-error.ts'
import { readConfig, settingsForExport } from './config.ts'

test('flags override the environment, and the environment overrides defaults', () => {
  const env = { GODWIT_VENDOR: 'acme', GODWIT_PREVIEW: 'optional' }
  const config = readConfig({ vendor: 'forge' }, env)
  assert.equal(config.vendor, 'forge')
  assert.equal(config.preview, 'optional')
  assert.equal(config.timeZone, 'UTC')
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 3000 })
  assert.equal(config.repositories, undefined)
  assert.throws(() => Object.assign(config, { vendor: 'other' }), TypeError)
})

test('addresses are derived from the ones that are set', () => {
  const plain = readConfig({ listen: '[::1]:80' }, {})
  assert.equal(plain.baseUrl, 'http://[::1]:80')
  const { webUrl, cloneUrl, sshUrl } = readConfig(
    { baseUrl: 'https://git.example.com/api/', webUrl: 'https://git.example.com/{owner}/{name}' },
    {},
  )
  assert.equal(webUrl, 'https://git.example.com/{owner}/{name}')
  assert.equal(cloneUrl, 'https://git.example.com/{owner}/{name}.git')
  assert.equal(sshUrl, 'git@git.example.com:{owner}/{name}.git')
})

test('an export without a base URL uses addresses with the host name', () => {
  const addressesOf = (flags: Parameters<typeof readConfig>[0], machine = 'Forge_1.local') => {
    const { config, guessed } = settingsForExport(readConfig(flags, {}), machine)
    return [config.webUrl, config.cloneUrl, config.sshUrl, guessed]
  }
  const addressesAt = (host: string) => [
    `https://${host}/{owner}/{name}`,
    `https://${host}/{owner}/{name}.git`,
    `git@${host}:{owner}/{name}.git`,
  ]
  assert.deepEqual(addressesOf({}), [...addressesAt('forge-1.local'), 'https://forge-1.local'])
  assert.deepEqual(addressesOf({}, '渡り鳥'), [...addressesAt('localhost'), 'https://localhost'])
  assert.deepEqual(addressesOf({ hostName: 'Git.Example.com' }), [
    ...addressesAt('git.example.com'),
    undefined,
  ])
  const baseUrl = 'https://git.example.com'
  assert.deepEqual(addressesOf({ baseUrl, hostName: 'x' }), [
    ...addressesAt('git.example.com'),
    undefined,
  ])
  const cloneUrl = 'https://clone.example.com/{owner}/{name}'
  assert.equal(addressesOf({ cloneUrl })[1], cloneUrl)
  for (const hostName of ['', 'a b', 'a/b', 'https://a', '-a', 'a..b', 'user@a'])
    assert.throws(() => readConfig({ hostName }, {}), /--host-name: must be the name of a host/)
})

test('object storages must be given as origins', () => {
  const { forgeStorageOrigins } = readConfig(
    { forgeStorageOrigins: 'https://S3.example.com, http://10.0.0.1:9000/' },
    {},
  )
  assert.deepEqual(forgeStorageOrigins, ['https://s3.example.com', 'http://10.0.0.1:9000'])
  for (const origin of [
    '',
    's3.example.com',
    'https://a.test/bucket',
    'https://u:p@a.test',
    'ftp://a',
  ])
    assert.throws(() => readConfig({ forgeStorageOrigins: origin }, {}), /is not an origin/)
})

test('sizes are decimal, with a unit in any case, and with or without B', () => {
  const bytesOf = (maxArchiveBytes: string) => readConfig({ maxArchiveBytes }, {}).maxArchiveBytes
  const sizes = ['1k', '10MB', '500M', '2gb', '7', '7B', 'none'].map(bytesOf)
  assert.deepEqual(sizes, [1e3, 1e7, 5e8, 2e9, 7, 7, Number.POSITIVE_INFINITY])
  for (const size of ['', 'MB', '1.5G', '10MiB', '10 M', '-1k', '1P'])
    assert.throws(() => bytesOf(size), /must be a size such as 500M or 50G, or none/)
})

test('all errors are reported together, with the name of the flag or variable', () => {
  const readInvalid = () =>
    readConfig(
      {
        listen: 'nowhere',
        preview: 'maybe',
        webUrl: 'https://host/',
        baseUrl: 'ftp://host',
        trustedProxies: '10.0.0.0/8,10.0.0.0/99',
        syncInterval: 'soon',
        maxUnfinishedMigrations: '0',
      },
      { GODWIT_TIME_ZONE: 'Mars/Olympus', GODWIT_VENDR: 'typo', GODWIT_DATABASE_URL: 'mysql://x' },
    )
  assert.throws(readInvalid, (error) => {
    assert.ok(error instanceof ConfigError)
    const named = error.mistakes.map((mistake) => mistake.split(':')[0]).sort()
    assert.deepEqual(named, [
      '--base-url',
      '--listen',
      '--max-unfinished-migrations',
      '--preview',
      '--sync-interval',
      '--trusted-proxies',
      '--web-url',
      'GODWIT_DATABASE_URL',
      'GODWIT_TIME_ZONE',
      'GODWIT_VENDR',
    ])
    return true
  })
})

test('the address to listen at is that of a host and a port', () => {
  for (const listen of ['a b:1', '256.1.1.1:80', '[::g]:80', 'a/b:1', 'u@a:1', 'a:0', 'a:65536'])
    assert.throws(() => readConfig({ listen }, {}), {
      mistakes: ['--listen: must be HOST:PORT, such as 127.0.0.1:3000'],
    })
  for (const listen of ['0.0.0.0:1', 'git.example.com:65535', '[::]:80'])
    assert.equal(readConfig({ listen }, {}).baseUrl, `http://${listen}`)
})

test('durations that timers count are limited, because longer ones would be over at once', () => {
  const tooLong = { syncInterval: '25d', clientTimeout: '30d', gitTimeout: '365d' }
  assert.throws(() => readConfig(tooLong, {}), {
    mistakes: [
      '--client-timeout: must be at most 24d',
      '--sync-interval: must be at most 24d',
      '--git-timeout: must be at most 24d',
    ],
  })
  const { syncInterval, gitTimeout } = readConfig({ syncInterval: '24d', gitTimeout: '24d' }, {})
  assert.equal(Math.max(syncInterval, gitTimeout) < 2 ** 31, true)
  assert.equal(readConfig({ syncInterval: '0' }, {}).syncInterval, 0)
})

test('--owner is required for the flat layout, and rejected for owner/name', () => {
  assert.throws(() => readConfig({ layout: 'flat' }, {}), /--owner: must be set/)
  assert.throws(() => readConfig({ owner: 'team' }, {}), /--owner: is only for/)
  assert.throws(() => readConfig({ layout: 'flat', owner: 'a b' }, {}), /--owner: must be the name/)
  assert.equal(readConfig({ layout: 'flat', owner: 'team' }, {}).owner, 'team')
  assert.equal(readConfig({ layout: 'any-depth' }, {}).owner, undefined)
})

test('address templates must contain {owner}, except with the flat layout', () => {
  const webUrl = 'https://git.example.com/{name}'
  assert.throws(() => readConfig({ webUrl }, {}), /--web-url: must contain {owner} and {name}/)
  const { cloneUrl } = readConfig({ webUrl, layout: 'flat', owner: 'team' }, {})
  assert.equal(cloneUrl, `${webUrl}.git`)
})

test('an OpenID provider has an address, an ID and a secret, and is not on plain HTTP', () => {
  const all = { oidcIssuer: 'https://id.test/', oidcClientId: 'x', oidcClientSecretFile: 'f' }
  assert.equal(readConfig(all, {}).oidcIssuer, 'https://id.test/')
  assert.throws(
    () => readConfig({ oidcIssuer: 'https://id.test' }, {}),
    /--oidc-client-id: is missing/,
  )
  const [named, numbered] = ['http://localhost.evil.test', 'http://127.evil.test']
  for (const oidcIssuer of ['http://id.test', 'http://10.0.0.1', named, numbered])
    assert.throws(() => readConfig({ ...all, oidcIssuer }, {}), {
      mistakes: ['--oidc-issuer: must be an https address'],
    })
  for (const oidcIssuer of ['http://localhost:9/realm', 'http://127.0.0.1', 'http://[::1]:9'])
    assert.equal(readConfig({ ...all, oidcIssuer }, {}).oidcIssuer, oidcIssuer)
})

test('claims are CLAIM=VALUE', () => {
  const { oidcRequire } = readConfig({ oidcRequire: 'groups=staff, tier=a=b' }, {})
  assert.deepEqual(oidcRequire, [
    { claim: 'groups', value: 'staff' },
    { claim: 'tier', value: 'a=b' },
  ])
  assert.throws(() => readConfig({ oidcAdmin: 'staff' }, {}), /--oidc-admin: must be CLAIM=VALUE/)
})

test('the header of a proxy needs a trusted proxy', () => {
  const trustedProxies = '127.0.0.1'
  assert.throws(() => readConfig({ userHeader: 'X-User' }, {}), /--user-header: needs --trusted-/)
  assert.equal(readConfig({ userHeader: 'X-User', trustedProxies }, {}).userHeader, 'x-user')
  for (const userHeader of ['Cookie', 'X User'])
    assert.throws(
      () => readConfig({ userHeader, trustedProxies }, {}),
      /must be the name of a head/,
    )
})
