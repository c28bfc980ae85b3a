import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  commandBlocks,
  configFileOf,
  godwitCalls,
  inlineCommands,
  usageErrorOf,
} from '../support/docs-commands.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { withTimeout } from '../support/wait-until.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname

const needsParts = skipUnless(
  ['curl', 'jq', 'sqlite3'].every((writeProgram) => !spawnSync(writeProgram, ['--version']).error),
  'curl, jq or sqlite3 is not installed',
)

/** Sets up temporary directories, a host and fake system programs for the commands of a page. */
async function setUpMachine(t: TestContext) {
  const host = await gitHost()
  t.after(host.remove)
  const config = { 'godwit.collaborator': 'alice:admin' }
  await host.repository('alice/site', { files: { 'index.html': '<h1>Alice</h1>' } })
  await host.repository('alice/notes', { files: { a: 'a' } })
  await host.repository('octo/tools', { files: { 'tool.sh': 'echo tool' }, config })
  let pid = ''
  // Stops it before its directory is removed.
  t.after(() => spawnSync('bash', ['-c', `kill -9 "$(cat ${pid})" 2>/dev/null`]))
  const root = temporaryDirectory(t)
  const listen = `127.0.0.1:${await freePort()}`
  for (const folder of ['bin', 'etc/godwit', 'var/backups', 'home'])
    mkdirSync(join(root, folder), { recursive: true })
  symlinkSync(GODWIT, join(root, 'bin/godwit'))
  symlinkSync(join(root, 'bin'), join(root, 'home/bin'))
  const writeProgram = (name: string, text: string) => {
    writeFileSync(join(root, 'bin', name), `#!/bin/bash\nset -eu\n${text}\n`)
    chmodSync(join(root, 'bin', name), 0o755)
  }
  pid = join(root, 'pid')
  // Does the work of the unit, without systemd.
  writeProgram(
    'systemctl',
    `case $* in
      'enable --now godwit' | 'start godwit') godwit serve >> ${root}/log 2>&1 & echo $! > ${pid} ;;
      'stop godwit') kill "$(cat ${pid})"; while kill -0 "$(cat ${pid})" 2>/dev/null; do sleep 0.05; done; rm ${pid} ;;
      *) echo "systemctl $*: not here" >&2; exit 1 ;;
    esac`,
  )
  // The user does not exist here.
  writeProgram('chown', `[ "$1 $2" = '-R godwit:' ] && [ -e "$3" ]`)
  const replacePaths = (text: string): string =>
    text
      .replaceAll('https://migrations.example.com', `http://${listen}`)
      .replaceAll('127.0.0.1:3000', listen)
      .replaceAll(
        /\/(srv\/git|srv\/restored|etc\/godwit|var\/(?:lib|backups)\/godwit)\b/g,
        (path) => (path === '/srv/git' ? host.root : join(root, path)),
      )
  const env = {
    ...process.env,
    PATH: `${join(root, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: join(root, 'home'),
    GODWIT_LISTEN: listen,
  }
  return { root, pid, listen, replacePaths, env: env as Record<string, string> }
}

/** Runs the commands in one shell until one fails. */
async function runInShell(
  { root }: { root: string },
  env: Record<string, string>,
  commands: readonly string[],
): Promise<string> {
  const script = [
    'set -eu -o pipefail',
    ...commands.flatMap((each) => [`: at ${quote(each)}`, each]),
  ]
  const shell = spawn('bash', ['-xc', script.join('\n')], {
    cwd: join(root, 'home'),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let shown = ''
  let printed = Promise.withResolvers<undefined>()
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      printed.resolve(undefined)
      printed = Promise.withResolvers()
    })
  const ended = once(shell, 'exit')
  let end: unknown[] | undefined
  // Only silence has a timeout; the commands together take as long as they need.
  while (!end)
    end = await withTimeout(
      () => `the commands of the page print something or end:\n${shown}`,
      Promise.race([ended, printed.promise]),
    )
  assert.equal(end[0], 0, shown)
  return shown
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const readCommands = async (page: string): Promise<string[]> =>
  (await commandBlocks(page))
    .filter(({ notRun }) => notRun === undefined)
    .flatMap(({ commands }) => commands)

test('the README’s tour works as written', needsParts, async (t) => {
  const machine = await setUpMachine(t)
  const commands = (await readCommands('README.md'))
    // Other tests cover these: the fresh clone, and the tour of the client.
    .filter((line) => !line.startsWith('npm ') && !line.startsWith('godwit migration'))
    .map(machine.replacePaths)
  assert.ok(
    commands.length >= 12 && commands.some((line) => line.includes('curl -sf')),
    commands.join('\n'),
  )
  const serve = commands.findIndex((line) => line.startsWith('bin/godwit serve'))
  commands[serve] =
    `${commands[serve]} > ../log 2>&1 & echo $! > ${machine.pid}; until curl -sf http://${machine.listen}/readyz; do sleep 0.1; done`
  const shown = await runInShell(machine, machine.env, [...commands, `kill $(cat ${machine.pid})`])
  assert.match(shown, /^alice\/site\nocto\/tools$/m)
  assert.match(shown, /alice\.tar\.gz is intact: 3 repositories verified/)
})

/** The values for the placeholders in capitals. */
const PLACEHOLDERS: [RegExp, string][] = [
  [/\[(OWNER)?[^\]]*\]?\]?\.*\]?/g, ''],
  [/owner\|member/g, 'owner'],
  [/OWNER\/NAME/g, 'alice/site'],
  [/\bORG\b/g, 'octo'],
  [/\bLOGIN\b/g, 'alice'],
  [/~\/\S+\//g, './'],
]

test('the first-day guide and the operations guide work as written', needsParts, async (t) => {
  const machine = await setUpMachine(t)
  const file = join(machine.root, 'etc/godwit/config')
  writeFileSync(file, machine.replacePaths(await configFileOf('docs/FIRST-DAY.md')))
  const env = { ...machine.env, GODWIT_CONFIG: file }
  const commands = (await readCommands('docs/FIRST-DAY.md')).map(machine.replacePaths)
  assert.ok(commands.length >= 25, commands.join('\n'))
  const shown = await runInShell(machine, env, commands)
  assert.match(shown, /alice\.tar\.gz is intact: 3 repositories verified/)
  assert.match(shown, new RegExp(`--repositories +\\S+ \\(${file}:2\\)`))

  const client = { GODWIT_URL: `http://${machine.listen}`, GODWIT_TOKEN_FILE: 'alice.token' }
  const operations: string[] = ['godwit account edit octo --type Organization']
  for (const inline of await inlineCommands('docs/OPERATIONS.md')) {
    const line = PLACEHOLDERS.reduce((text, [from, to]) => text.replaceAll(from, to), inline)
    const [words = []] = godwitCalls(line)
    // Mentioned commands lack their arguments; services have run above.
    const isComplete = !/…/.test(line) && (await usageErrorOf(words)) === undefined
    if (isComplete && !['serve', 'work'].includes(words[0]!))
      operations.push(line.replace('| man -l -', '> man'))
  }
  for (const wanted of [
    'godwit member add octo alice --role owner',
    'godwit lock list',
    'godwit check',
    'godwit sync',
  ])
    assert.ok(
      operations.some((line) => line.trim() === wanted),
      `${wanted} is not among\n${operations.join('\n')}`,
    )
  await runInShell(machine, { ...env, ...client }, [...operations, 'systemctl stop godwit'])
})
