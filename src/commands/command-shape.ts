import type { Argument, Command, Option } from 'commander'
import { SETTINGS } from './command-line.ts'

/** What stands for a value in a usage, and what a shell can offer for it. */
export interface ValueShape {
  /** `DIR`, `FILE`, `N`. */
  name: string
  choices: readonly string[]
  takes: 'directory' | 'file' | 'anything'
}

export interface OptionShape {
  flag: string
  about: string
  /** Absent where the flag stands alone. */
  value?: ValueShape
}

export interface CommandShape {
  /** The words after `godwit`. */
  path: readonly string[]
  about: string
  usage: string
  commands: readonly CommandShape[]
  /** Its own; the settings are the same for every command that has them. */
  options: readonly OptionShape[]
  hasSettings: boolean
  arguments: readonly ValueShape[]
}

/** The tree of commands as it is, for whatever is written from it: completions, the manual page. */
export function commandShape(command: Command, path: readonly string[] = []): CommandShape {
  const own = command.options.filter((option) => !isSetting(option) && !option.hidden)
  const shown = command.createHelp().visibleCommands(command)
  const names = shown.map((each) => each.name())
  const below = shown.map((each) => {
    const shape = commandShape(each, [...path, each.name()])
    // Commander's own, of which it says no more than that it takes a command.
    return each.name() === 'help' ? { ...shape, arguments: [valueShape('command', names)] } : shape
  })
  return {
    path,
    about: command.description(),
    usage: `${['godwit', ...path].join(' ')} ${command.usage()}`.trimEnd(),
    commands: below,
    options: [...own.map(optionShape), { flag: '--help', about: 'display help for command' }],
    hasSettings: command.options.some(isSetting),
    arguments: command.registeredArguments.map(argumentShape),
  }
}

/** Each command below it, and itself. */
export function flattenCommands(shape: CommandShape): CommandShape[] {
  return [shape, ...shape.commands.flatMap(flattenCommands)]
}

const isSetting = (option: Option): boolean => option.helpGroupHeading === SETTINGS

export function optionShape({ flags, long, short, description, argChoices }: Option): OptionShape {
  const name = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1]
  const shape = { flag: long ?? short ?? flags, about: description }
  return name === undefined ? shape : { ...shape, value: valueShape(name, argChoices) }
}

const argumentShape = (argument: Argument): ValueShape =>
  valueShape(argument.name(), argument.argChoices)

export function valueShape(name: string, choices?: readonly string[]): ValueShape {
  const spelt = /^[a-z]+(\|[a-z]+)+$/.test(name) ? name.split('|') : []
  return { name, choices: choices ?? spelt, takes: taken(name) }
}

function taken(name: string): ValueShape['takes'] {
  if (/DIR/.test(name)) return 'directory'
  return /FILE|CSV|archive/.test(name) ? 'file' : 'anything'
}
