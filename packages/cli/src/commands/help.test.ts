import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { Command } from 'commander'
import { pageWithTable } from '../../../../scripts/command-table.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'
import { VERSION } from '../../../server/src/service/version.ts'
import { flagOf, optionNames, variableOf } from '../settings/setting-names.ts'
import { commandShape, flattenCommands } from './command-shape.ts'
import { createProgram } from './program.ts'

test('the help of a command shows its own options and then its own settings', async () => {
  const godwit = createCommandRunner()
  for (const [command, own, settings] of [
    ['verify', ['json'], ['git']],
    ['token list', ['json'], ['data', 'database-url', 'blobs']],
    ['convert', undefined, ['git']],
    ['serve', [], undefined],
    ['completion', [], []],
  ] as const) {
    const { code, stdout } = await godwit([...command.split(' '), '--help'])
    assert.equal(code, 0)
    const [ownHelp = '', settingsHelp = ''] = stdout.split('Settings:\n')
    const flagsIn = (text: string) =>
      Array.from(text.matchAll(/^ {2}--([\w-]+)/gm), ([, flag]) => flag)
    if (own) assert.deepEqual(flagsIn(ownHelp), own, command)
    if (settings) assert.deepEqual(flagsIn(settingsHelp), settings, command)
    assert.equal(stdout.includes('godwit help settings'), settings?.length !== 0, command)
    const [options = ''] = stdout.split('Examples:')
    assert.doesNotMatch(options, /^ {31}|^.{81}/m, 'descriptions use the width of the terminal')
  }
})

test('the help of the program fits a screen', async () => {
  const lines = (await createCommandRunner()(['--help'])).stdout.trimEnd().split('\n')
  assert.ok(lines.length <= 60, `${lines.length} lines`)
  for (const line of lines) assert.ok(line.length <= 80, line)
})

test('a command refuses a setting that it does not use, and suggests the nearest flag', async () => {
  const godwit = createCommandRunner()
  for (const [line, suggestion] of [
    ['verify --max-tokens 5', ''],
    ['verify --gti git', '(Did you mean --git?)\n'],
    ['token list --repositories .', ''],
    ['work --listne :1', '(Did you mean --listen?)\n'],
  ] as const) {
    const [, flag] = /(--\S+)/.exec(line)!
    const { code, stdout, stderr } = await godwit(line.split(' '))
    const message = `godwit: unknown option '${flag}'\n${suggestion}`
    assert.deepEqual([code, stdout, stderr], [2, '', message], line)
  }
})

test('`help` takes the whole name of a command', async () => {
  const godwit = createCommandRunner()
  for (const [name, first] of [
    ['', 'Usage: godwit [options] [command]'],
    ['help', 'Usage: godwit help [command...]'],
    ['migration', 'Usage: godwit migration [options] [command]'],
    ['migration start', 'Usage: godwit migration start [options] [repositories...]'],
    ['admin token list', 'Usage: godwit admin token list [options]'],
    ['version more', 'Usage: godwit version [options]'],
  ] as const) {
    const { code, stdout } = await godwit(['help', ...name.split(' ').filter(Boolean)])
    assert.deepEqual([code, stdout.split('\n')[0]], [0, first], name)
  }
  for (const [name, message] of [
    ['migratoin', "godwit: unknown command 'migratoin'\n(Did you mean migration?)\n"],
    ['migration strat', "godwit: unknown command 'strat'\n(Did you mean start?)\n"],
  ] as const) {
    const { code, stdout, stderr } = await godwit(['help', ...name.split(' ')])
    assert.deepEqual([code, stdout, stderr], [2, '', message], name)
  }
})

test('a group of commands does nothing itself, so that `help` can let commander report an unknown name', async () => {
  const groups = (command: Command): Command[] =>
    command.commands.flatMap((each) => [
      ...(each.commands.length > 0 ? [each] : []),
      ...groups(each),
    ])
  for (const group of groups(await createProgram()))
    assert.deepEqual(group.registeredArguments, [], group.name())
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

test('every command that prints data has --json', async () => {
  const withoutData = ['serve', 'work', 'sync', 'completion', 'man', 'token replace-clone-key']
  const all = flattenCommands(commandShape(await createProgram()))
  const without = all
    .filter(({ path, commands }) => commands.length === 0 && path.at(-1) !== 'help')
    .filter(({ options }) => !options.some(({ flag }) => flag === '--json'))
    .map(({ path }) => path.join(' '))
  assert.deepEqual(
    without.filter((name) => !withoutData.includes(name)),
    [],
  )
})

test('one verb is used for one thing', async () => {
  const all = flattenCommands(commandShape(await createProgram()))
  const replaced = ['set', 'change', 'revoke', 'create', 'new', 'rm', 'ls', 'get', 'update']
  for (const { path } of all) assert.ok(!replaced.includes(path.at(-1)!), path.join(' '))
  const verbsOf = (noun: string) =>
    all.filter(({ path }) => path.length === 2 && path[0] === noun).map(({ path }) => path[1])
  for (const noun of ['account', 'member', 'schedule', 'webhook'])
    for (const verb of ['add', 'edit', 'list', 'remove'])
      assert.ok(verbsOf(noun).includes(verb), `${noun} ${verb}`)
})

test('the table in docs/COMMANDS.md is that of the program', async () => {
  const { before, after } = await pageWithTable()
  assert.equal(before, after, 'run `node scripts/command-table.ts`')
  assert.match(after, /^\| `godwit account add <login>` \| .* \| yes \|$/m)
})

test('a wrong value is reported with what is right', async () => {
  const godwit = createCommandRunner()
  for (const [line, message] of [
    ['migration show abc', "godwit: 'abc' is not a migration ID (a number, such as 7)\n"],
    ['schedule add --all --every hour', 'godwit: --every hour: must be one of day, week\n'],
    ['completion csh', "godwit: 'csh': must be one of bash, zsh, fish\n"],
    [
      'schedule add --all --every day --at 25:00',
      'godwit: --at 25:00: must be a time from 00:00 to 23:59, such as 03:30\n',
    ],
    [
      'schedule edit 3 --time-zone Mars',
      'godwit: --time-zone Mars: must be a time zone such as UTC or Europe/Berlin\n',
    ],
    ['schedule edit 3 --keep 0', 'godwit: --keep 0: must be a whole number from 1 to 999999\n'],
    [
      'token add alice --expires soon',
      'godwit: --expires soon: must be a duration such as 30s, 15m, 24h or 7d\n',
    ],
  ] as const) {
    const { code, stderr } = await godwit(line.split(' '))
    assert.deepEqual([code, stderr], [2, message], line)
  }
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
