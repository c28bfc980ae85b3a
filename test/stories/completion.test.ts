import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { createCommandRunner } from '../support/shared-commands.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { needsTerminal } from '../support/terminal.ts'
import { until, withTimeout } from '../support/wait-until.ts'

interface Terminal {
  /** Types the keys and waits until the output matches. */
  type(keys: string, shown: RegExp): Promise<string>
}

/** Starts a shell at its own terminal. */
function shellAtTerminal(
  t: Pick<TestContext, 'after'>,
  shell: string,
  { cwd, env = {} }: { cwd: string; env?: Readonly<Record<string, string>> },
): Terminal {
  const child = spawn('script', ['-qefc', `stty cols 120 rows 50; exec ${shell}`, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'dumb', PS1: '> ', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGHUP')
    await withTimeout(`${shell} ends with its terminal`, ended)
  })
  return {
    async type(keys, expected) {
      const before = shown.length
      child.stdin.write(keys)
      const since = () => shown.slice(before)
      await until(
        () => `${JSON.stringify(keys)} shows ${expected}: ${JSON.stringify(since())}`,
        async () => expected.test(since()),
      )
      return since()
    },
  }
}

const run = promisify(execFile)

const needs = (shell: string) =>
  skipUnless(spawnSync(shell, ['--version']).status === 0, `${shell} is not installed`)

let folder: string
const scriptFor = (shell: string) => join(folder, `completion.${shell}`)

const fileCleanup = cleanupAfterFile()

before(async () => {
  folder = temporaryDirectory(fileCleanup)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await createCommandRunner()(['completion', shell])
    writeFileSync(scriptFor(shell), stdout)
  }
  mkdirSync(join(folder, 'a folder'))
  writeFileSync(join(folder, 'an-archive.tar.gz'), '')
})

/** The typed text, and the completions that must be offered or not offered. */
const CASES: [line: string, offered: string[], unwanted: string[]][] = [
  ['tok', ['token'], ['serve']],
  ['', ['serve', 'token', 'completion', 'version', 'help'], ['add']],
  ['token ', ['add', 'list', 'revoke'], ['serve']],
  ['help tok', ['token'], []],
  ['completion ', ['bash', 'zsh', 'fish'], []],
  ['token add alice --exp', ['--expires'], []],
  ['token add --repo', ['--repositories'], []],
  ['migration list --js', ['--json'], []],
  ['migration list --rep', [], ['--repositories']],
  ['member add octo alice --role ', ['owner', 'member'], ['api']],
  ['serve --role ', ['all', 'api'], ['owner']],
  ['locks --data serve rel', ['release'], []],
  ['--config an-archive.tar.gz token ', ['add'], []],
  ['verify an', ['an-archive.tar.gz'], []],
]

function assertOffered(
  line: string,
  offered: string[],
  wanted: string[],
  unwanted: string[],
): void {
  const message = `godwit ${line}: ${offered.join(' ')}`
  for (const word of wanted) assert.ok(offered.includes(word), message)
  for (const word of unwanted) assert.ok(!offered.includes(word), message)
}

test('bash completes commands and options', needs('bash'), async () => {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
    _godwit; printf '%s\\n' "\${COMPREPLY[@]}"`
  for (const [line, wanted, unwanted] of CASES) {
    const words = ['godwit', ...line.split(' ')]
    const { stdout } = await run('bash', ['-c', script, 'bash', scriptFor('bash'), ...words], {
      cwd: folder,
    })
    assertOffered(line, stdout.split('\n'), wanted, unwanted)
  }
  const words = ['godwit', 'serve', '--role', '=', 'a']
  const { stdout } = await run('bash', ['-c', script, 'bash', scriptFor('bash'), ...words])
  assertOffered('serve --role=a', stdout.split('\n'), ['all', 'api'], [])
})

test('bash completes at a terminal with the Tab key', { ...needsTerminal }, async (t) => {
  const bash = shellAtTerminal(t, 'bash --norc --noprofile -i', { cwd: folder })
  await bash.type(
    `bind 'set bell-style none'; source ${scriptFor('bash')}; echo rea''dy\n`,
    /ready/,
  )
  await bash.type('godwit tok\t', /token /)
  await bash.type('a\t', /add /)
  await bash.type('--exp\t', /--expires /)
  await bash.type('\x15godwit verify an\t', /an-archive\.tar\.gz /)
  await bash.type('\x15godwit serve --data a\\ f\t', /a\\ folder\//)
  await bash.type('\x15exit\n', /exit/)
})

test('zsh completes at a terminal with the Tab key', needs('zsh'), async (t) => {
  const zsh = shellAtTerminal(t, 'zsh -f -i', { cwd: folder })
  const load = 'autoload -U compinit; compinit -u -D'
  await zsh.type(`PS1='> '; ${load}; source ${scriptFor('zsh')}; echo rea''dy\n`, /ready/)
  await zsh.type('godwit tok\t', /token /)
  await zsh.type('a\t', /add /)
  await zsh.type('--exp\t', /--expires /)
  await zsh.type('\x15godwit serve --role ap\t', /api/)
  await zsh.type('\x15godwit verify an\t', /an-archive\.tar\.gz/)
  await zsh.type('\x15godwit migration re\t\t', /repositories.*retry|retry.*repositories/s)
  await zsh.type('\x15exit\n', /exit/)
})

test('fish completes commands and options', needs('fish'), async () => {
  const script = 'source $argv[1]; complete -C "godwit $argv[2]"'
  for (const [line, wanted, unwanted] of CASES) {
    const { stdout } = await run('fish', ['--no-config', '-c', script, scriptFor('fish'), line], {
      cwd: folder,
      env: { ...process.env, HOME: folder },
    })
    const offered = stdout.split('\n').map((line) => line.split('\t')[0]!)
    assertOffered(line, offered, wanted, unwanted)
  }
})
