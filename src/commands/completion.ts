import { Argument, type Command } from 'commander'
import { printPainted, withExamples } from './command-line.ts'
import { commandShape } from './command-shape.ts'
import { bashCompletion } from './completion/bash.ts'
import { fishCompletion } from './completion/fish.ts'
import { zshCompletion } from './completion/zsh.ts'

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }
type Shell = keyof typeof SHELLS

export function completionCommand(program: Command, about: string): void {
  const command = program.command('completion').description(about)
  command.addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
  withExamples(
    command,
    'source <(godwit completion bash)         # in ~/.bashrc',
    'source <(godwit completion zsh)          # in ~/.zshrc, after compinit',
    'godwit completion fish > ~/.config/fish/completions/godwit.fish',
  )
  command.action((shell: Shell) => printPainted(SHELLS[shell](commandShape(program)).trimEnd()))
}
