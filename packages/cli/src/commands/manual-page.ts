import { exitCodes } from '@godwit/lib/user-error'
import { VERSION } from '@godwit/server/service/version'
import type { Command } from 'commander'
import { DEFAULT_CONFIG_FILE } from '../settings/config-file.ts'
import { withExamples } from './command-line.ts'
import {
  type CommandShape,
  commandShape,
  flattenCommands,
  type OptionShape,
} from './command-shape.ts'
import { HOW_TO_SET, listSettings } from './list-settings.ts'
import { printPainted } from './print.ts'

export function manCommand(program: Command, about: string): void {
  const command = program.command('man').description(about)
  withExamples(command, ['godwit man | man -l -', 'godwit man | gzip -9n > godwit.1.gz']).action(
    () => printPainted(manualPage(program).trimEnd()),
  )
}

/** Generates godwit(1) from the same definitions of commands and settings as the help. */
function manualPage(program: Command): string {
  const shape = commandShape(program)
  const leaves = flattenCommands(shape).filter(
    ({ path, commands }) => path.length > 0 && path[0] !== 'help' && commands.length === 0,
  )
  return [
    `.TH GODWIT 1 "" "godwit ${VERSION}" "User Commands"`,
    // Hyphenation would break names that users copy.
    '.nr HY 0',
    '.nh',
    '.ad l',
    ...section('NAME', `godwit \\- ${escaped(firstLower(shape.about))}`),
    ...section('SYNOPSIS', '.B godwit', escaped('COMMAND [OPTIONS] [SETTINGS]')),
    ...section('DESCRIPTION', ...DESCRIPTION.map(escaped)),
    ...section('COMMANDS', ...leaves.flatMap(commandLines)),
    ...section('SETTINGS', ...HOW_TO_SET.map(escaped), ...settingLines()),
    ...section(
      'EXIT STATUS',
      ...exitCodes.flatMap(([code, about]) => item(`.B ${escaped(code)}`, about)),
    ),
    ...section(
      'FILES',
      ...item(`.I ${DEFAULT_CONFIG_FILE}`, 'the configuration file'),
      ...item('.I ~/.config/godwit/servers.json', 'servers and tokens of `godwit auth login`'),
    ),
    ...section('EXAMPLES', ...exampleLines(shape.examples)),
    ...section('SEE ALSO', '.BR git (1)'),
    '',
  ].join('\n')
}

const DESCRIPTION = [
  'Godwit serves the bare repositories that a git host has on disk. Every user of the host can start a migration of their repositories, follow it, and download one archive.',
  'Data goes to standard output, progress and messages to standard error.',
]

const section = (title: string, ...lines: string[]): string[] => [`.SH ${title}`, ...lines]

const item = (term: string, ...about: string[]): string[] => ['.TP', term, ...about.map(escaped)]

const commandLines = ({ path, about, usage, options, settings, examples }: CommandShape) => [
  `.SS ${escaped(path.join(' '))}`,
  escaped(`${about.charAt(0).toUpperCase()}${about.slice(1)}.`),
  '.PP',
  `.B ${escaped(usage)}`,
  ...options.filter(({ flag }) => flag !== '--help').flatMap(optionLines),
  ...(settings.length > 0
    ? ['.PP', escaped(`Settings: ${settings.map(({ flag }) => flag).join(', ')}`)]
    : []),
  ...exampleLines(examples),
]

const optionLines = ({ flag, about, value }: OptionShape): string[] =>
  item(`.B ${escaped(flag)}${value ? ` \\fI${escaped(value.name)}\\fR` : ''}`, about)

const settingLines = (): string[] =>
  listSettings().flatMap(({ flag, argument, variable, default: defaultValue, about }) =>
    item(
      `.B ${escaped(flag)} \\fI${escaped(argument)}\\fR`,
      `${about}; ${variable}${defaultValue === null ? '' : ` (default: ${defaultValue})`}`,
    ),
  )

const exampleLines = (lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['.PP', '.EX', ...lines.map(escaped), '.EE']

/** Escapes dashes and backslashes, and a leading . or ', which would start a troff request. */
function escaped(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('…', '...')
  return /^[.']/.test(plain) ? `\\&${plain}` : plain
}

const firstLower = (text: string): string => `${text.charAt(0).toLowerCase()}${text.slice(1)}`
