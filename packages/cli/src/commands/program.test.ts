import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'
import { exitCodes } from '../../../lib/src/user-error.ts'
import { createProgram } from './program.ts'

function commandsBelow(parent: Command): Command[] {
  return parent.commands.flatMap((command) => [command, ...commandsBelow(command)])
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

function helpOf(command: Command): string {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text), getOutHasColors: () => false })
  command.outputHelp()
  return help
}

test('the help of every command has examples, which use existing commands and options', async () => {
  const program = await createProgram()
  const all = new Map(commandsBelow(program).map((command) => [pathOf(command), command]))
  assert.ok(all.size > 25, [...all.keys()].join())
  for (const [path, command] of all) {
    const help = helpOf(command)
    const [, examples] = help.split('\nExamples:\n')
    assert.ok(examples, `${path} has no examples`)
    for (const example of examples.match(/(?<!\/)\bgodwit [a-z][^|&#\n]*/g) ?? []) {
      const words = example.trim().split(/\s+/)
      const used = [4, 3, 2].map((count) => all.get(words.slice(0, count).join(' '))).find(Boolean)
      assert.ok(used, `${path}: unknown command in the example: ${example}`)
      const known = [...used.options, ...program.options].map(({ long }) => long)
      for (const flag of words.filter((word) => word.startsWith('--')))
        assert.ok(known.includes(flag), `${path}: ${pathOf(used)} has no ${flag}`)
    }
  }
})

test('a program that loads only the requested command lists all commands', async () => {
  const names = (program: Command) => program.commands.map((command) => command.name())
  const complete = await createProgram()
  const partial = await createProgram(['help', 'token'])
  assert.deepEqual(names(partial), names(complete))
  const token = (program: Command) => program.commands.find((each) => each.name() === 'token')!
  assert.equal(helpOf(token(partial)), helpOf(token(complete)))
})

test('bin/godwit starts by a relative path, whatever CDPATH contains', async () => {
  const cwd = new URL('../../../..', import.meta.url).pathname
  const env = { ...process.env, CDPATH: cwd }
  const { stdout } = await promisify(execFile)('bin/godwit', ['version'], { cwd, env })
  assert.match(stdout, /^godwit /)
})

test('bin/godwit refuses a Node older than package.json allows', async (t) => {
  const root = new URL('../../../..', import.meta.url).pathname
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const major = Number(/^>=(\d+)$/.exec(engines.node)![1])
  const folder = temporaryDirectory(t)
  await mkdir(join(folder, 'bin'))
  await copyFile(join(root, 'bin/godwit'), join(folder, 'bin/godwit'))
  const startWith = async (version: string) => {
    await writeFile(join(folder, 'node'), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 })
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    return promisify(execFile)(join(folder, 'bin/godwit'), ['version'], { env })
  }
  assert.equal((await startWith(`v${major}.0.0`)).stdout, `v${major}.0.0\n`)
  await assert.rejects(startWith(`v${major - 1}.9.9`), {
    code: 1,
    stderr: `godwit: needs Node ${major} or newer on the PATH; found v${major - 1}.9.9\n`,
  })
})

test('the manual page and docs/COMMANDS.md list the same exit codes', async () => {
  const { stdout: manual } = await createCommandRunner()(['man'])
  const page = await readFile(new URL('../../../../docs/COMMANDS.md', import.meta.url), 'utf8')
  for (const [code, meaning] of exitCodes) {
    const item = `.TP\n.B ${code}\n${meaning.replaceAll('-', '\\-')}\n`
    assert.ok(manual.includes(item), item)
    assert.ok(page.includes(`| ${code} | ${meaning} |`), `docs/COMMANDS.md does not list ${code}`)
  }
})
