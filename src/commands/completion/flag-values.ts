import { flagOf, optionNames, optionOf } from '../../settings/setting-names.ts'
import {
  type CommandShape,
  flattenCommands,
  type ValueShape,
  valueShape,
} from '../command-shape.ts'

/** What a flag or an argument takes: words to choose from, or the kind of a file. */
export const offered = ({ choices, takes }: ValueShape): string =>
  choices.length > 0 ? choices.join(' ') : takes

/** The function that says so of a command's flag, in words that bash and zsh both read. */
export function valueFunction(program: CommandShape): string {
  return `# The values of a flag: words, or the kind of a file.
_godwit_value() {
  value=anything
  case "$1 $2" in
${flattenCommands(program).flatMap(valueArms).join('\n')}
  *)
    case $2 in
${settingArms().join('\n')}
    *) value= ;;
    esac
    ;;
  esac
}`
}

const valueArms = ({ path, options }: CommandShape): string[] =>
  options
    .filter(({ value }) => value)
    .map(({ flag, value }) => `  '${path.join(' ')} ${flag}') value='${offered(value!)}' ;;`)

const settingArms = (): string[] => [
  '    --config) value=file ;;',
  ...optionNames.map((name) => {
    const value = offered(valueShape(optionOf(name).argument))
    return `    ${flagOf(name)}) value='${value}' ;;`
  }),
]
