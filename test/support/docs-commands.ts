import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { createProgram } from '../../packages/cli/src/commands/program.ts'

/** A command of a page, and what the page shows as its output. */
export interface Step {
  command: string
  output: string
}

/** A code block of a page with commands. */
export interface CommandBlock {
  steps: Step[]
  /** Why a test cannot run it; undefined if it can. */
  notRun: string | undefined
}

const readPage = (page: string): Promise<string> =>
  readFile(new URL(`../../${page}`, import.meta.url), 'utf8')

const BLOCK = /(?:<!-- checked, not run: ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$/gms

const LANGUAGES = ['sh', 'console', '']

/**
 * Returns the commands in the code blocks of a page, in order. A comment before a block says why a test cannot
 * run it.
 */
export async function commandBlocks(page: string): Promise<CommandBlock[]> {
  const text = await readPage(page)
  const blocks = Array.from(text.matchAll(BLOCK)).filter(([, , kind]) => LANGUAGES.includes(kind!))
  return blocks
    .map(([, notRun, kind, body = '']) => ({
      notRun,
      steps: kind === 'console' ? stepsAfterPrompts(body) : stepsOfLines(body),
    }))
    .filter(({ steps }) => steps.length > 0)
}

/** A command follows a prompt; the lines up to the next prompt are its output. */
const stepsAfterPrompts = (body: string): Step[] =>
  joinContinuedLines(body)
    .split(/^[$#] /m)
    .slice(1)
    .map((step) => {
      const [command = '', ...output] = step.split('\n')
      return { command, output: output.join('\n') }
    })

const stepsOfLines = (body: string): Step[] =>
  joinContinuedLines(body)
    .split('\n')
    .map((line) => line.replace(/ +#.*/, '').trim())
    .filter((line) => /^(godwit|bin\/godwit|npm|[A-Z_]+=\S+ godwit) /.test(line))
    .map((command) => ({ command, output: '' }))

const joinContinuedLines = (body: string): string => body.replaceAll(/ \\\n +/g, ' ')

/** Returns a pattern for the output on a page: `…` stands for any number of lines; numbers and durations may differ. */
export function outputPattern(output: string): RegExp {
  const lines = output.trimEnd().split('\n')
  const patterns = lines.map((line) => (line === '…' ? '(?:.*\\n)*' : `${linePattern(line)}\\n`))
  return new RegExp(`^${patterns.join('')}$`)
}

const linePattern = (line: string): string =>
  line
    .split(/(?<= in )\d+ s\b/)
    .map((part) =>
      part
        .split(/\d(?:[\d.,]*\d)?/)
        .map(RegExp.escape)
        .join('[\\d.,]+'),
    )
    .join('(?:under )?\\d+ (?:s|min)')

/** Returns the configuration file that a page shows. */
export async function configFileOf(page: string): Promise<string> {
  const text = await readPage(page)
  const [, file = ''] = /^```ini\n(# \/etc\/godwit\/config\n.*?)^```$/ms.exec(text) ?? []
  return file
}

/** Returns every inline `godwit …`. */
export async function inlineCommands(page: string): Promise<string[]> {
  const text = (await readPage(page)).replaceAll(BLOCK, '')
  return [...new Set(Array.from(text.matchAll(/`(godwit [a-z][^`]*)`/g), ([, each]) => each!))]
}

/** Returns the words of each call of godwit in a shell command. */
export function godwitCalls(line: string): string[][] {
  const calls = line.matchAll(
    /(?<![\w/.-])(?:bin\/)?godwit((?:\s+(?:"[^"]*"|'[^']*'|[^\s|&;<>)]+))+)/g,
  )
  return Array.from(calls, ([, words = '']) =>
    Array.from(words.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g), ([, a, b, c]) => a ?? b ?? c ?? ''),
  )
}

/** Returns why the real program rejects these words; undefined if it accepts them. */
export async function usageErrorOf(words: readonly string[]): Promise<string | undefined> {
  const program = await createProgram()
  const silent = { writeErr: () => {}, writeOut: () => {} }
  for (const group of program.commands) group.configureOutput(silent)
  for (const command of everyCommand(program)) command.action(() => {}).configureOutput(silent)
  try {
    await program.parseAsync([...words], { from: 'user' })
  } catch (error) {
    const { exitCode, message } = error as Error & { exitCode?: number }
    return exitCode === 0 ? undefined : message
  }
  return undefined
}

/** Commands that do something; a name of several commands does nothing by itself. */
const everyCommand = (parent: Command): Command[] =>
  parent.commands.flatMap((command) =>
    command.commands.length > 0 ? everyCommand(command) : [command],
  )

/** Returns the words that are not a command or flag of the program. Mentioned commands may lack arguments. */
export async function unknownWords(words: readonly string[]): Promise<string[]> {
  let command: Command = await createProgram()
  const known = command.options.map(({ long }) => long)
  const unknown: string[] = []
  for (const [index, word] of words.entries()) {
    const child = command.commands.find(
      (each) => each.name() === word || each.aliases().includes(word),
    )
    if (child) command = child
    else if (
      index === 0
        ? word !== 'help'
        : command.parent && command.commands.length > 0 && /^[a-z][a-z-]*$/.test(word)
    )
      unknown.push(word)
    known.push(...command.options.map(({ long }) => long), '--help')
  }
  const flags = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]!)
  // If a group of commands is mentioned, any command of the group may have the flag.
  known.push(...command.commands.flatMap((each) => each.options.map(({ long }) => long)))
  return [...unknown, ...flags.filter((flag) => !known.includes(flag))]
}
