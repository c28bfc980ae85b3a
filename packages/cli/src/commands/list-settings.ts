import { escapeJsonForTerminal } from '@godwit/lib/terminal-text'
import type { Command } from 'commander'
import { DEFAULT_CONFIG_FILE } from '../settings/config-file.ts'
import { allNames, namesOf, optionOf } from '../settings/setting-names.ts'
import { withExamples } from './command-line.ts'
import { type JsonOption, print } from './print.ts'
import { paint } from './terminal.ts'

export function settingsCommand(program: Command, about: string): void {
  const command = program
    .command('settings')
    .description(about)
    .option('--json', 'print the settings as JSON')
  command.addHelpText('after', () => `\n${formatSettings()}`)
  withExamples(command, ['godwit settings', 'godwit settings --json'])
  command.action(({ json }: JsonOption) =>
    print(json ? escapeJsonForTerminal(listSettings()) : formatSettings()),
  )
}

/** Lists all settings, for the help, the JSON output and the manual page. */
export const listSettings = () =>
  allNames.map((name) => {
    const { argument, about, defaultValue, defaultDescription } = optionOf(name)
    // The number of cores differs between machines.
    const shownDefault =
      name === 'concurrency' ? 'number of CPU cores' : (defaultValue ?? defaultDescription)
    return { ...namesOf(name), argument, default: shownDefault ?? null, about }
  })

export const HOW_TO_SET = [
  'A setting is given by its flag, else by its environment variable, else in the configuration file.',
  `The configuration file is named by --config FILE or GODWIT_CONFIG, and otherwise ${DEFAULT_CONFIG_FILE}, if it exists.`,
  'It has one NAME = VALUE on each line, with the names of the flags; # begins a comment.',
  'The server and the token of client commands are also found where `godwit auth login` stores them, before the default configuration file.',
  '`godwit config` shows the current values, and where each comes from.',
]

function formatSettings(): string {
  const titled = listSettings().map(({ flag, variable, argument, default: defaultValue, about }) =>
    [
      `  ${paint('bold', `${flag} ${argument}`)}`,
      `      ${about}`,
      `      ${variable}${defaultValue === null ? '' : ` (default: ${defaultValue})`}`,
    ].join('\n'),
  )
  return [...HOW_TO_SET, '', ...titled].join('\n')
}
