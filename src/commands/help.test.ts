import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { Command } from 'commander'
import { createCommandRunner } from '../../test/support/shared-commands.ts'
import { VERSION } from '../service/version.ts'
import { flagOf, optionNames, variableOf } from '../settings/setting-names.ts'
import { commandShape, flattenCommands } from './command-shape.ts'
import { createProgram } from './program.ts'

test('the help of a command shows its own options and refers to the settings', async () => {
  const godwit = createCommandRunner()
  for (const command of ['serve', 'token add', 'doctor', 'export', 'locks release']) {
    const { code, stdout } = await godwit([...command.split(' '), '--help'])
    assert.equal(code, 0)
    assert.match(stdout, /^Settings: godwit help settings$/m, command)
    assert.ok(stdout.split('\n').length < 30, `${command}:\n${stdout}`)
    assert.doesNotMatch(stdout, /--max-streams|^ {40}/m)
  }
  const { stdout } = await godwit(['token', 'add', '--help'])
  assert.match(stdout, /^ {2}--expires <duration> {2}how long/m, 'columns as wide as they need')
})

test('`help settings` lists all settings with variable and default', async () => {
  const godwit = createCommandRunner()
  const help = await godwit(['help', 'settings'])
  const list = await godwit(['settings'])
  for (const { code, stdout } of [help, list]) {
    assert.equal(code, 0)
    for (const name of optionNames) {
      assert.ok(stdout.includes(`  ${flagOf(name)} `), name)
      assert.ok(stdout.includes(`      ${variableOf(name)}`), name)
    }
    assert.match(stdout, /\/etc\/godwit\/config/)
  }
  const all = JSON.parse((await godwit(['settings', '--json'])).stdout)
  const data = all.find(({ name }: { name: string }) => name === 'data')
  assert.deepEqual([data.flag, data.variable, data.default], ['--data', 'GODWIT_DATA', './var'])
})

test('a misspelt setting gets a suggestion', async () => {
  const { code, stderr } = await createCommandRunner()(['sync', '--repositries', 'x'])
  assert.equal(code, 2)
  assert.match(stderr, /Did you mean --repositories\?/)
})

test('`version` and `--version` print the version', async () => {
  const godwit = createCommandRunner()
  assert.equal((await godwit(['--version'])).stdout, `${VERSION}\n`)
  const { stdout } = await godwit(['version'])
  assert.match(stdout, new RegExp(`^godwit ${VERSION.replaceAll('.', '\\.')} \\(node \\d+`))
})

test('every command that lists something has --json', async () => {
  const program = await createProgram()
  const lists = flattenCommands(commandShape(program)).filter(
    ({ path, about, commands }) =>
      path.at(-1) !== 'help' &&
      (commands.length === 0 || path.join(' ') === 'locks') &&
      (/^(list|show|print the current)\b/.test(about) || path.at(-1) === 'list'),
  )
  assert.ok(lists.length >= 12, lists.map(({ path }) => path.join(' ')).join())
  for (const { path, options } of lists)
    assert.ok(
      options.some(({ flag }) => flag === '--json'),
      `${path.join(' ')} has no --json`,
    )
})

const hasGroff = spawnSync('groff', ['--version']).status === 0

test('the manual page has every command, option and setting, and is valid', {
  skip: !hasGroff && 'groff is not installed',
}, async () => {
  const { stdout: page } = await createCommandRunner()(['man'])
  const read = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-rLL=100n', '-P-cbou'], {
    input: page,
    encoding: 'utf8',
  })
  assert.equal(read.stderr, '')
  const text = read.stdout
  assert.match(text, /NAME\n +godwit - self-service export/)
  const program: Command = await createProgram()
  for (const { path, options, commands } of flattenCommands(commandShape(program))) {
    if (path.length === 0 || path.includes('help') || commands.length > 0) continue
    assert.match(text, new RegExp(`^ +${path.join(' ')}$`, 'm'))
    for (const { flag } of options.filter(({ flag }) => flag !== '--help'))
      assert.ok(text.includes(flag), `${path.join(' ')} ${flag}`)
  }
  for (const name of optionNames) assert.ok(text.includes(variableOf(name)), name)
})
