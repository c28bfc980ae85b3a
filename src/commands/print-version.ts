import type { Command } from 'commander'
import { VERSION } from '../service/version.ts'
import { print, withExamples } from './command-line.ts'

export function versionCommand(program: Command, about: string): void {
  const command = program.command('version').description(about)
  withExamples(command, 'godwit version')
  command.action(() =>
    print(`godwit ${VERSION} (node ${process.versions.node}, ${process.platform} ${process.arch})`),
  )
}
