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
  ['curl', 'jq', 'sqlite3'].every((program) => !spawnSync(program, ['--version']).error),
  'curl, jq or sqlite3 is not installed',
)

/** A machine for the commands of a page: its directories are temporary, everything else is real. */
async function machine(t: TestContext) {
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
  const program = (name: string, text: string) => {
    writeFileSync(join(root, 'bin', name), `#!/bin/bash\nset -eu\n${text}\n`)
    chmodSync(join(root, 'bin', name), 0o755)
  }
  pid = join(root, 'pid')
  // Does the work of the unit, without systemd.
  program(
    'systemctl',
    `case $* in
      'enable --now godwit' | 'start godwit') godwit serve >> ${root}/log 2>&1 & echo $! > ${pid} ;;
      'stop godwit') kill "$(cat ${pid})"; while kill -0 "$(cat ${pid})" 2>/dev/null; do sleep 0.05; done; rm ${pid} ;;
      *) echo "systemctl $*: not here" >&2; exit 1 ;;
    esac`,
  )
  // The user does not exist here.
  program('chown', `[ "$1 $2" = '-R godwit:' ] && [ -e "$3" ]`)
  const here = (text: string): string =>
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
  return { root, pid, listen, here, env: env as Record<string, string> }
}

/** Runs the commands in one shell until one fails. */
async function typed(
  { root }: { root: string },
  env: Record<string, string>,
  commands: readonly string[],
): Promise<string> {
  const script = [
    'set -eu -o pipefail',
    ...commands.flatMap((each) => [`: at ${quoted(each)}`, each]),
  ]
  const shell = spawn('bash', ['-xc', script.join('\n')], {
    cwd: join(root, 'home'),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let shown = ''
  let said = Promise.withResolvers<undefined>()
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      said.resolve(undefined)
      said = Promise.withResolvers()
    })
  const ended = once(shell, 'exit')
  let end: unknown[] | undefined
  // Only silence has a timeout; the commands together take as long as they need.
  while (!end)
    end = await withTimeout(
      () => `the commands of the page go on:\n${shown}`,
      Promise.race([ended, said.promise]),
    )
  assert.equal(end[0], 0, shown)
  return shown
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const runnable = async (page: string): Promise<string[]> =>
  (await commandBlocks(page))
    .filter(({ notRun }) => notRun === undefined)
    .flatMap(({ commands }) => commands)

test('the README’s tour works as written', needsParts, async (t) => {
  const all = await machine(t)
  const tour = (await runnable('README.md'))
    // Other tests cover these: the fresh clone, and the tour of the client.
    .filter((line) => !line.startsWith('npm ') && !line.startsWith('godwit migration'))
    .map(all.here)
  assert.ok(tour.length >= 12 && tour.some((line) => line.includes('curl -sf')), tour.join('\n'))
  const serve = tour.findIndex((line) => line.startsWith('bin/godwit serve'))
  tour[serve] =
    `${tour[serve]} > ../log 2>&1 & echo $! > ${all.pid}; until curl -sf http://${all.listen}/readyz; do sleep 0.1; done`
  const shown = await typed(all, all.env, [...tour, `kill $(cat ${all.pid})`])
  assert.match(shown, /^alice\/site\nocto\/tools$/m)
  assert.match(shown, /alice\.tar\.gz is intact: 3 repositories verified/)
})

/** The values for the placeholders in capitals. */
const FILLED: [RegExp, string][] = [
  [/\[(OWNER)?[^\]]*\]?\]?\.*\]?/g, ''],
  [/owner\|member/g, 'owner'],
  [/OWNER\/NAME/g, 'alice/site'],
  [/\bORG\b/g, 'octo'],
  [/\bLOGIN\b/g, 'alice'],
  [/~\/\S+\//g, './'],
]

test('the first-day guide and the operations guide work as written', needsParts, async (t) => {
  const all = await machine(t)
  const file = join(all.root, 'etc/godwit/config')
  writeFileSync(file, all.here(await configFileOf('docs/FIRST-DAY.md')))
  const env = { ...all.env, GODWIT_CONFIG: file }
  const day = (await runnable('docs/FIRST-DAY.md')).map(all.here)
  assert.ok(day.length >= 25, day.join('\n'))
  const shown = await typed(all, env, day)
  assert.match(shown, /alice\.tar\.gz is intact: 3 repositories verified/)
  assert.match(shown, new RegExp(`--repositories +\\S+ \\(${file}:2\\)`))

  const client = { GODWIT_URL: `http://${all.listen}`, GODWIT_TOKEN_FILE: 'alice.token' }
  const operations: string[] = ['godwit account edit octo --type Organization']
  for (const inline of await inlineCommands('docs/OPERATIONS.md')) {
    const line = FILLED.reduce((text, [from, to]) => text.replaceAll(from, to), inline)
    const [words = []] = godwitCalls(line)
    // Mentioned commands lack their arguments; services have run above.
    const isWhole = !/…/.test(line) && (await usageErrorOf(words)) === undefined
    if (isWhole && !['serve', 'work'].includes(words[0]!))
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
  await typed(all, { ...env, ...client }, [...operations, 'systemctl stop godwit'])
})
