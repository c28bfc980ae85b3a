import type { Command, Option } from 'commander'
import { examplesOf, isSetting } from './command-line.ts'

/** A value of an option or argument, and how a shell can complete it. */
export interface ValueShape {
  /** The placeholder, such as `DIR`, `FILE` or `N`. */
  name: string
  choices: readonly string[]
  takes: 'directory' | 'file' | 'anything'
}

export interface OptionShape {
  flag: string
  about: string
  /** Absent for a flag without a value. */
  value?: ValueShape
}

export interface CommandShape {
  /** The words after `godwit` that name the command. */
  path: readonly string[]
  about: string
  usage: string
  commands: readonly CommandShape[]
  /** The command's own options, without the settings. */
  options: readonly OptionShape[]
  settings: readonly OptionShape[]
  arguments: readonly ValueShape[]
  examples: readonly string[]
}

/** Describes a command and its subcommands, for the completion scripts and the manual page. */
export function commandShape(command: Command, path: readonly string[] = []): CommandShape {
  const commandOptions = command.options.filter((option) => !isSetting(option))
  const shown = command.createHelp().visibleCommands(command)
  const names = shown.map((each) => each.name())
  const subcommands = shown.map((each) => {
    const shape = commandShape(each, [...path, each.name()])
    if (each.name() !== 'help') return shape
    // Commander's own help command has neither choices nor examples.
    return { ...shape, arguments: [valueShape('command', names)], examples: examplesOf(command) }
  })
  return {
    path,
    about: command.description(),
    usage: `${['godwit', ...path].join(' ')} ${command.usage()}`.trimEnd(),
    commands: subcommands,
    options: [
      ...commandOptions.map(optionShape),
      { flag: '--help', about: 'display help for command' },
    ],
    settings: command.options.filter(isSetting).map(optionShape),
    arguments: command.registeredArguments.map((each) => valueShape(each.name(), each.argChoices)),
    examples: examplesOf(command),
  }
}

export function flattenCommands(shape: CommandShape): CommandShape[] {
  return [shape, ...shape.commands.flatMap(flattenCommands)]
}

function optionShape({ flags, long, short, description, argChoices }: Option): OptionShape {
  const name = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1]
  const shape = { flag: long ?? short ?? flags, about: description }
  return name === undefined ? shape : { ...shape, value: valueShape(name, argChoices) }
}

function valueShape(name: string, choices?: readonly string[]): ValueShape {
  const alternatives = /^[a-z/-]+(\|[a-z/-]+)+$/.test(name) ? name.split('|') : []
  return { name, choices: choices ?? alternatives, takes: kindOf(name) }
}

function kindOf(name: string): ValueShape['takes'] {
  if (/DIR/.test(name)) return 'directory'
  return /FILE|CSV|PATH|archive|inputs|dump/.test(name) ? 'file' : 'anything'
}
