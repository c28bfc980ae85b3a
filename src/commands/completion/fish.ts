import { flagOf, type OptionName, optionNames, optionOf } from '../../settings/setting-names.ts'
import {
  type CommandShape,
  flattenCommands,
  type OptionShape,
  valueShape,
} from '../command-shape.ts'

export function fishCompletion(program: CommandShape): string {
  const all = flattenCommands(program)
  return `# fish completion for godwit: made by \`godwit completion fish\`

set -g __godwit_settings ${optionNames.map(flagOf).join(' ')}
set -g __godwit_commands ${all
    .slice(1)
    .map(({ path }) => quoted(path.join(' ')))
    .join(' ')}
set -g __godwit_with_settings ${withSettings(all)}

# The command that the words before name.
function __godwit_path
    set -l path
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word --config $__godwit_settings
            set skip 1
        else if contains -- (string join ' ' $path $word) $__godwit_commands
            set -a path $word
        end
    end
    string join ' ' $path
end

function __godwit_at
    test "$(__godwit_path)" = "$argv"
end

function __godwit_takes_settings
    contains -- "$(__godwit_path)" $__godwit_with_settings
end

complete -c godwit -f
${all.flatMap(linesOf).join('\n')}
complete -c godwit -l config -r -F -d 'configuration file'
${optionNames.map((name) => settingLine(name, all)).join('\n')}
`
}

const withSettings = (all: readonly CommandShape[]): string =>
  all
    .filter(({ hasSettings }) => hasSettings)
    .map(({ path }) => quoted(path.join(' ')))
    .join(' ')

function linesOf({ path, commands, options, arguments: [first] }: CommandShape): string[] {
  const here = `complete -c godwit -n ${quoted(`__godwit_at ${path.join(' ')}`.trimEnd())}`
  const below = commands.map((each) => `${here} -a ${each.path.at(-1)} -d ${quoted(each.about)}`)
  const files = first && first.takes !== 'anything' ? [`${here} -F`] : []
  const words =
    first && first.choices.length > 0 ? [`${here} -a ${quoted(first.choices.join(' '))}`] : []
  return [
    ...below,
    ...files,
    ...words,
    ...options.map((option) => `${here} ${optionWords(option)}`),
  ]
}

function optionWords({ flag, about, value }: OptionShape): string {
  const name = `-l ${flag.replace(/^-+/, '')}`
  return `${name}${value ? ` ${valueWords(value)}` : ''} -d ${quoted(about)}`
}

function valueWords({ choices, takes }: NonNullable<OptionShape['value']>): string {
  if (choices.length > 0) return `-x -a ${quoted(choices.join(' '))}`
  if (takes === 'directory') return "-x -a '(__fish_complete_directories (commandline -ct))'"
  return takes === 'file' ? '-r -F' : '-x'
}

function settingLine(name: OptionName, all: readonly CommandShape[]): string {
  const { argument, about } = optionOf(name)
  const flag = flagOf(name)
  // Some commands have another use for the name.
  const others = all.filter(({ options }) => options.some((option) => option.flag === flag))
  const elsewhere = others.map(({ path }) => `; and not __godwit_at ${path.join(' ')}`)
  const where = quoted(`__godwit_takes_settings${elsewhere.join('')}`)
  const option = { flag, about, value: valueShape(argument) }
  return `complete -c godwit -n ${where} ${optionWords(option)}`
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
