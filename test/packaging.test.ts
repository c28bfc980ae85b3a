import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { optionNames, variableOf } from '../packages/cli/src/settings/setting-names.ts'
import { temporaryDirectory } from './support/sample-repositories.ts'
import { skipUnless } from './support/skip-unless.ts'

const PROJECT = new URL('..', import.meta.url).pathname
const UNITS = join(PROJECT, 'packaging/systemd')
/** The scale of `systemd-analyze`: 0 is safest, 10 is least safe. */
const WORST_SCORE = 3

const hasProgram = (name: string) => spawnSync(name, ['--version']).status === 0
const needsSystemd = skipUnless(hasProgram('systemd-analyze'), 'systemd is not installed')

for (const unit of readdirSync(UNITS)) {
  test(`${unit} is valid and sandboxed`, needsSystemd, (t) => {
    const file = join(temporaryDirectory(t), unit)
    const text = readFileSync(join(UNITS, unit), 'utf8')
    // The files that the unit names must exist.
    const program = join(file, '../godwit')
    writeFileSync(program, '')
    chmodSync(program, 0o755)
    writeFileSync(file, text.replaceAll('/usr/bin/godwit', program))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    })
    assert.deepEqual([verified.status, verified.stderr], [0, ''])
    const threshold = `--threshold=${WORST_SCORE * 10}`
    const args = ['security', '--offline=true', '--no-pager', threshold, file]
    const analysis = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    assert.equal(analysis.status, 0, analysis.stdout.split('\n').slice(-3).join('\n'))
  })
}

const dockerfile = readFileSync(join(PROJECT, 'Dockerfile'), 'utf8')
const composeFile = readFileSync(join(PROJECT, 'compose.yaml'), 'utf8')

interface Compose {
  services: Record<
    string,
    {
      image: string
      depends_on?: Record<string, { condition: string }>
      environment?: Record<string, string>
      volumes?: string[]
      healthcheck?: object
    }
  >
  volumes: Record<string, null>
}

const needsRuby = skipUnless(hasProgram('ruby'), 'ruby is not installed')

test('compose.yaml uses existing settings and connects its services', needsRuby, () => {
  const script = 'puts JSON.dump(YAML.load(STDIN.read, aliases: true))'
  const options = { input: composeFile, encoding: 'utf8' } as const
  const read = spawnSync('ruby', ['-ryaml', '-rjson', '-e', script], options)
  assert.equal(read.status, 0, read.stderr)
  const { services, volumes } = JSON.parse(read.stdout) as Compose
  assert.deepEqual(Object.keys(services), ['api', 'worker', 'database', 'bucket', 'make-bucket'])
  for (const [name, service] of Object.entries(services)) {
    assert.match(service.image, name === 'api' || name === 'worker' ? /^godwit$/ : /:[\w.-]+$/)
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      assert.ok(services[other], `${name} waits for ${other}`)
      if (condition === 'service_healthy')
        assert.ok(services[other].healthcheck, `${other} has no healthcheck`)
    }
    for (const volume of service.volumes ?? []) {
      const [, from = ''] = /^(\w+):/.exec(volume) ?? []
      assert.ok(from === '' || from in volumes, volume)
    }
  }
  const known = new Set(optionNames.map(variableOf))
  const used = `${dockerfile}${composeFile}`.match(/\bGODWIT_\w+/g) ?? []
  assert.deepEqual(
    used.filter((variable) => !known.has(variable)),
    [],
  )
})

test('the Dockerfile copies existing files and runs as an ordinary user', () => {
  const ignored = readFileSync(join(PROJECT, '.dockerignore'), 'utf8').split('\n').filter(Boolean)
  for (const [, source = ''] of dockerfile.matchAll(/^COPY (?!--from)(\S+) /gm))
    assert.ok(existsSync(join(PROJECT, source)), source)
  for (const needed of ['package.json', 'package-lock.json', 'scripts', 'packaging', 'packages'])
    assert.ok(!ignored.includes(needed) && existsSync(join(PROJECT, needed)), needed)
  const { scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'))
  for (const [, script = ''] of dockerfile.matchAll(/npm run (\S+)/g)) assert.ok(scripts[script])
  assert.match(dockerfile, /^USER godwit$/m)
})

const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0

test('Docker accepts compose.yaml', {
  skip: !hasCompose && 'the compose plugin of Docker is not installed',
}, () => {
  const variables = { POSTGRES_PASSWORD: 'a', BUCKET_PASSWORD: 'b', REPOSITORIES: '/srv/git' }
  const env = { ...process.env, ...variables }
  const args = ['compose', '--file', join(PROJECT, 'compose.yaml'), 'config', '--quiet']
  const checked = spawnSync('docker', args, { env, encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stderr)
})
