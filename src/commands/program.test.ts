import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Command } from 'commander'
import { exitCodes } from '../lib/user-error.ts'
import { createProgram } from './program.ts'

function everyCommand(parent: Command): Command[] {
  return parent.commands.flatMap((command) => [command, ...everyCommand(command)])
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

function helpOf(command: Command): string {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text), getOutHasColors: () => false })
  command.outputHelp()
  return help
}

test('every command has examples in its help that it accepts', async () => {
  const program = await createProgram()
  const all = new Map(everyCommand(program).map((command) => [pathOf(command), command]))
  assert.ok(all.size > 25, [...all.keys()].join())
  for (const [path, command] of all) {
    const help = helpOf(command)
    const [, examples] = help.split('\nExamples:\n')
    assert.ok(examples, `${path} has no examples`)
    for (const example of examples.match(/(?<!\/)\bgodwit [a-z][^|&#\n]*/g) ?? []) {
      const words = example.trim().split(/\s+/)
      const shown = all.get(words.slice(0, 3).join(' ')) ?? all.get(words.slice(0, 2).join(' '))
      assert.ok(shown, `${path}: no such command as in: ${example}`)
      const known = [...shown.options, ...program.options].map(({ long }) => long)
      for (const flag of words.filter((word) => word.startsWith('--')))
        assert.ok(known.includes(flag), `${path}: ${pathOf(shown)} has no ${flag}`)
    }
  }
})

test('only the requested command is loaded, and the others are listed', async () => {
  const names = (program: Command) => program.commands.map((command) => command.name())
  const whole = await createProgram()
  const lean = await createProgram(['help', 'token'])
  assert.deepEqual(names(lean), names(whole))
  const token = (program: Command) => program.commands.find((each) => each.name() === 'token')!
  assert.equal(helpOf(token(lean)), helpOf(token(whole)))
})

test('the help and the README list the same exit codes', async () => {
  const help = helpOf(await createProgram())
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  for (const [code, meaning] of exitCodes) {
    assert.ok(help.includes(`${code.padEnd(6)} ${meaning}`), code)
    assert.ok(readme.includes(`| ${code} | ${meaning} |`), `the README lacks ${code}`)
  }
})
