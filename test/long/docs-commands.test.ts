import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import {
  commandBlocks,
  configFileOf,
  godwitCalls,
  inlineCommands,
  outputPattern,
  type Step,
  usageErrorOf,
} from '../support/docs-commands.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { createCommandRunner } from '../support/shared-commands.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { withTimeout } from '../support/wait-until.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const GODWIT = join(ROOT, 'bin/godwit')

const needsPrograms = skipUnless(
  ['curl', 'jq'].every((program) => !spawnSync(program, ['--version']).error),
  'curl or jq is not installed',
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
    XDG_CONFIG_HOME: '',
    GODWIT_LISTEN: listen,
  }
  return { root, pid, listen, replacePaths, env: env as Record<string, string> }
}

/** Runs the commands of a page in one shell until one fails, and compares their output with the page. */
async function runInShell(
  folder: string,
  env: Record<string, string>,
  steps: readonly Step[],
): Promise<void> {
  const script = steps.flatMap(({ command }) => [`echo ${SEPARATOR}`, command])
  const shell = spawn('bash', ['-c', ['set -eu -o pipefail', 'exec 2>&1', ...script].join('\n')], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let shown = ''
  let printed = Promise.withResolvers<undefined>()
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    printed.resolve(undefined)
    printed = Promise.withResolvers()
  })
  const ended = once(shell, 'close')
  let end: unknown[] | undefined
  // Only silence has a timeout; the commands together take as long as they need.
  while (!end)
    end = await withTimeout(
      () => `the commands of the page print something or end:\n${shown}`,
      Promise.race([ended, printed.promise]),
    )
  const outputs = shown.split(`${SEPARATOR}\n`).slice(1)
  assert.equal(end[0], 0, `${steps[outputs.length - 1]?.command} fails:\n${outputs.at(-1)}`)
  for (const [index, { command, output }] of steps.entries())
    if (output.trim() !== '')
      assert.match(`${outputs[index]!.trimEnd()}\n`, outputPattern(output), command)
}

const SEPARATOR = '----- the next command -----'

const readSteps = async (page: string, replacePaths: (text: string) => string): Promise<Step[]> =>
  (await commandBlocks(page))
    .filter(({ notRun }) => notRun === undefined)
    .flatMap(({ steps }) => steps)
    .map(({ command, output }) => ({
      command: replacePaths(command),
      output: replacePaths(output),
    }))

test('the README’s tour works as written in a fresh clone', needsPrograms, async (t) => {
  const folder = join(temporaryDirectory(t), 'godwit')
  await promisify(execFile)('git', ['clone', '--quiet', ROOT, folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const listen = `127.0.0.1:${await freePort()}`
  // Another test runs the commands with npm.
  const steps = (
    await readSteps('README.md', (text) => text.replaceAll('127.0.0.1:3001', listen))
  ).filter(({ command }) => !command.startsWith('npm '))
  assert.ok(steps.length >= 15 && steps.some(({ command }) => command.startsWith('api() { curl')))
  const serve = steps.find(({ command }) => command === 'bin/godwit serve')!
  // The page shows it in a terminal of its own.
  serve.command = `bin/godwit serve > var/log 2>&1 & until curl -sf http://${listen}/readyz > var/ready; do sleep 0.1; done; grep listening var/log; unset GODWIT_REPOSITORIES GODWIT_LISTEN`
  steps.push({ command: 'kill %1; wait %1', output: '' })
  const env = {
    ...process.env,
    HOME: folder,
    XDG_CONFIG_HOME: '',
    GODWIT_CONFIG: '/dev/null',
  }
  await runInShell(folder, env as Record<string, string>, steps)
})

/** These need an OpenID provider or a PostgreSQL, or would sign alice out. */
const TESTED_ELSEWHERE = /--unbind|--all-of|godwit copy/

/** The values for the placeholders in capitals. */
const PLACEHOLDERS: [RegExp, string][] = [
  [/\[(OWNER)?[^\]]*\]?\]?\.*\]?/g, ''],
  [/owner\|member/g, 'owner'],
  [/OWNER\/NAME/g, 'alice/site'],
  [/\bORG\b/g, 'octo'],
  [/\bLOGIN\b/g, 'alice'],
  [/~\/\S+\//g, './'],
]

test('the first-day guide and the operations guide work as written', needsPrograms, async (t) => {
  const machine = await setUpMachine(t)
  const file = join(machine.root, 'etc/godwit/config')
  writeFileSync(file, machine.replacePaths(await configFileOf('docs/FIRST-DAY.md')))
  const env = { ...machine.env, GODWIT_CONFIG: file }
  const steps = await readSteps('docs/FIRST-DAY.md', machine.replacePaths)
  assert.ok(steps.length >= 25, JSON.stringify(steps))
  await runInShell(join(machine.root, 'home'), env, steps)

  const operations: string[] = ['godwit account edit octo --type Organization']
  for (const inline of await inlineCommands('docs/OPERATIONS.md')) {
    const line = PLACEHOLDERS.reduce((text, [from, to]) => text.replaceAll(from, to), inline)
    const [words = []] = godwitCalls(line)
    // Mentioned commands lack their arguments; services have run above.
    const isComplete = !/…/.test(line) && (await usageErrorOf(words)) === undefined
    if (isComplete && !['serve', 'work'].includes(words[0]!) && !TESTED_ELSEWHERE.test(line))
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
  const home = join(machine.root, 'home')
  const godwit = createCommandRunner({ cwd: home, env })
  for (const line of operations) {
    if (/[|>]/.test(line)) await runInShell(home, env, [{ command: line, output: '' }])
    else {
      const { code, stdout, stderr } = await godwit(godwitCalls(line)[0]!)
      assert.equal(code, 0, `${line} fails:\n${stdout}${stderr}`)
    }
  }
  await runInShell(home, env, [{ command: 'systemctl stop godwit', output: '' }])
})
