import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { clientOrigins } from '../settings/client-config.ts'
import { readConfig } from '../settings/config.ts'
import { findConfigFile } from '../settings/config-file.ts'
import { describeConfig, shownSettings } from './show-config.ts'

function fileOf(t: TestContext, text: string) {
  const flag = join(temporaryDirectory(t), 'config')
  writeFileSync(flag, text)
  return findConfigFile({ flag, variable: undefined })!
}

test('each value is shown with its origin, without the password', () => {
  const config = readConfig(
    { databaseUrl: 'postgres://godwit:s3cret@db.example.com/godwit?password=s3cret' },
    { GODWIT_SYNC_INTERVAL: '1h' },
  )
  const text = describeConfig(config, clientOrigins({}, {}, undefined))
  assert.match(
    text,
    /^--database-url +postgres:\/\/godwit:\*\*\*@db.example.com\/godwit \(flag\)$/m,
  )
  assert.match(text, /^--sync-interval +1h \(environment\)$/m)
  assert.match(text, /^--base-url +http:\/\/127.0.0.1:3000 \(default\)$/m)
  assert.match(text, /^--repositories +\(not set\)$/m)
  assert.ok(!text.includes('s3cret'))
})

test('a value from the file is shown with its line', (t) => {
  const file = fileOf(t, 'vendor = file\npreview = optional\ntime-zone = Europe/Berlin\n')
  const config = readConfig({ vendor: 'flag' }, { GODWIT_PREVIEW: 'required' }, { file })
  const text = describeConfig(config, clientOrigins({}, {}, file))
  assert.match(text, new RegExp(`^--config +${file.path} \\(flag\\)$`, 'm'))
  assert.match(text, /^--vendor +flag \(flag\)$/m)
  assert.match(text, /^--preview +required \(environment\)$/m)
  assert.match(text, new RegExp(`^--time-zone +Europe/Berlin \\(${file.path}:3\\)$`, 'm'))
  assert.match(text, /^--link-ttl +5m \(default\)$/m)
})

test('secrets are not shown, as text or as JSON', (t) => {
  const secret = 'database-url = postgres://godwit:s3cret@db/godwit'
  const file = fileOf(t, `${secret}\nurl = http://127.0.0.1:3000\ntoken = t0ken\n`)
  const config = readConfig({}, {}, { file })
  const client = clientOrigins({}, {}, file)
  const shown = `${describeConfig(config, client)}${JSON.stringify(shownSettings(config, client))}`
  assert.ok(shown.includes('postgres://godwit:***@db/godwit'))
  assert.ok(!shown.includes('s3cret') && !shown.includes('t0ken'), shown)
})
