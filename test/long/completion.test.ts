import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { createCommandRunner } from '../support/shared-commands.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { needsTerminal, typeAtTerminal } from '../support/terminal.ts'

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
  ['token ', ['add', 'list', 'remove'], ['serve']],
  ['admin token ', ['list', 'remove'], ['add']],
  ['auth ', ['login', 'logout', 'status', 'switch'], []],
  ['help tok', ['token'], []],
  ['completion ', ['bash', 'zsh', 'fish'], []],
  ['token add alice --exp', ['--expires'], []],
  ['token add --da', ['--data', '--database-url'], []],
  ['token add --re', [], ['--repositories']],
  ['verify --', ['--git', '--json', '--config'], ['--data', '--max-tokens']],
  ['sync --repo', ['--repositories'], []],
  ['migration list --js', ['--json'], []],
  ['migration list --rep', [], ['--repositories']],
  ['member add octo alice --role ', ['owner', 'member'], ['api']],
  ['serve --role ', ['all', 'api'], ['owner']],
  ['serve --layout ', ['owner/name', 'flat', 'any-depth'], ['all']],
  ['serve --log-level ', ['debug', 'silent'], []],
  ['schedule add --weekday ', ['monday', 'sunday'], []],
  ['account add octo --type ', ['User', 'Organization'], []],
  ['export alice --output an', ['an-archive.tar.gz'], []],
  ['migration start --token-file an', ['an-archive.tar.gz'], []],
  ['--config an-archive.tar.gz token ', ['add'], []],
  ['verify an', ['an-archive.tar.gz'], []],
  ['convert an', ['an-archive.tar.gz'], []],
  ['convert --to ', ['github-archive'], []],
  ['convert --output an', ['an-archive.tar.gz'], []],
  ['finish an', ['an-archive.tar.gz'], []],
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
  const bash = typeAtTerminal(t, 'bash --norc --noprofile -i', { cwd: folder })
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
  const zsh = typeAtTerminal(t, 'zsh -f -i', { cwd: folder })
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
    const words = ['--no-config', '-c', script, scriptFor('fish'), line]
    const { stdout, stderr } = await run('fish', words, {
      cwd: folder,
      env: { ...process.env, HOME: folder },
    })
    assert.equal(stderr, '', line)
    const offered = stdout.split('\n').map((line) => line.split('\t')[0]!)
    assertOffered(line, offered, wanted, unwanted)
  }
})
