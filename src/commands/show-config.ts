import type { Command } from 'commander'
import { describeConfig } from '../config.ts'
import { addCommand, configOf, print, withExamples } from './command-line.ts'

export function configCommand(program: Command, about: string): void {
  const command = addCommand(program, 'config', about)
  withExamples(command, 'godwit config', 'GODWIT_DATA=/var/lib/godwit godwit config')
  command.action((_options, command: Command) => print(describeConfig(configOf(command))))
}
