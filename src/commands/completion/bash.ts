import { flagOf, optionNames } from '../../settings/setting-names.ts'
import { type CommandShape, flattenCommands } from '../command-shape.ts'
import { offered, valueFunction } from './flag-values.ts'

/** Nothing but bash itself is needed to read it. */
export function bashCompletion(program: CommandShape): string {
  return `# bash completion for godwit: made by \`godwit completion bash\`

_godwit_settings='${optionNames.map(flagOf).join(' ')}'

# What may follow the command that the words before name.
_godwit_at() {
  commands= options= settings= arguments=
  case $1 in
${flattenCommands(program).map(commandArm).join('\n')}
  esac
}

${valueFunction(program)}

_godwit_offer() {
  case $1 in
  directory) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
  file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
  anything) ;;
  *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
  esac
}

_godwit() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}
  local path= commands options settings arguments value word i
  COMPREPLY=()
  _godwit_at ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case " --config $_godwit_settings " in *" $word "*) ((i++)) && [[ \${COMP_WORDS[i]} = '=' ]] && ((i++)); continue ;; esac
    case " $commands " in *" $word "*)
      path="$path\${path:+ }$word"
      _godwit_at "$path"
      ;;
    esac
  done
  # Bash takes --flag=value for three words.
  if [[ $current = '=' ]]; then current=; elif [[ $before = '=' ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $before = -* ]]; then
    _godwit_value "$path" "$before"
    if [[ -n $value ]]; then
      _godwit_offer "$value" "$current"
      return
    fi
  fi
  if [[ $current = -* ]]; then
    _godwit_offer "$options --config\${settings:+ $_godwit_settings}" "$current"
  elif [[ -n $commands ]]; then
    _godwit_offer "$commands" "$current"
  else
    _godwit_offer "\${arguments:-anything}" "$current"
  fi
}

complete -F _godwit godwit
`
}

function commandArm({ path, commands, options, hasSettings, arguments: all }: CommandShape) {
  const words = [
    `commands='${commands.map((each) => each.path.at(-1)).join(' ')}'`,
    `options='${options.map(({ flag }) => flag).join(' ')}'`,
    ...(hasSettings ? ['settings=1'] : []),
    ...(all[0] ? [`arguments='${offered(all[0])}'`] : []),
  ]
  return `  '${path.join(' ')}') ${words.join(' ')} ;;`
}
