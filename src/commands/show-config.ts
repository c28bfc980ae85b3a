import type { Command } from 'commander'
import { clientSaid } from '../client-config.ts'
import { describeConfig, shownFile, shownSettings } from '../describe-config.ts'
import { harmlessJson } from '../ground/terminal-text.ts'
import { addCommand, configFileOf, print, settingsOf, withExamples } from './command-line.ts'

export function configCommand(program: Command, about: string): void {
  const command = addCommand(program, 'config', about)
  withExamples(
    command,
    'godwit config',
    'godwit config --config /etc/godwit/config --json',
    'GODWIT_DATA=/var/lib/godwit godwit config',
  )
  command
    .option('--json', 'print the settings as JSON')
    .action(({ json }: { json?: boolean }, command: Command) => {
      const config = settingsOf(command)
      const client = clientSaid({}, process.env, configFileOf(command))
      if (json)
        print(harmlessJson({ file: shownFile(config), settings: shownSettings(config, client) }))
      else print(describeConfig(config, client))
    })
}
