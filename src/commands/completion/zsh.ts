import { flagOf, optionNames, optionOf } from '../../settings/setting-names.ts'
import { type CommandShape, flattenCommands } from '../command-shape.ts'
import { offered, valueFunction } from './flag-values.ts'

export function zshCompletion(program: CommandShape): string {
  return `#compdef godwit
# zsh completion for godwit: made by \`godwit completion zsh\`

typeset -ga _godwit_settings
_godwit_settings=(
${optionNames.map((name) => `  ${described(flagOf(name), optionOf(name).about)}`).join('\n')}
)

# What may follow the command that the words before name.
_godwit_at() {
  commands=() options=() settings= arguments=
  case $1 in
${flattenCommands(program).map(commandArm).join('\n')}
  esac
}

${valueFunction(program)}

_godwit_offer() {
  case $1 in
  directory) _files -/ ;;
  file) _files ;;
  anything) _message value ;;
  *) compadd -- \${=1} ;;
  esac
}

_godwit() {
  local -a commands options offered
  local where= settings= arguments= value= word i
  _godwit_at ''
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ $word = --config || -n \${(M)_godwit_settings:#$word:*} ]]; then ((i++)); continue; fi
    if [[ -n \${(M)commands:#$word:*} ]]; then
      where="$where\${where:+ }$word"
      _godwit_at "$where"
    fi
  done
  if [[ $PREFIX = --*=* ]]; then
    _godwit_value "$where" "\${PREFIX%%=*}"
    compset -P '*='
    _godwit_offer "\${value:-anything}"
    return
  fi
  if [[ \${words[CURRENT - 1]} = -* ]]; then
    _godwit_value "$where" "\${words[CURRENT - 1]}"
    if [[ -n $value ]]; then
      _godwit_offer "$value"
      return
    fi
  fi
  if [[ $PREFIX = -* ]]; then
    offered=($options '--config:configuration file')
    [[ -z $settings ]] || offered+=($_godwit_settings)
    _describe option offered
  elif ((\${#commands})); then
    _describe command commands
  else
    _godwit_offer "\${arguments:-anything}"
  fi
}

# Loaded by compinit from a directory of $fpath it is called at once; sourced, it is registered.
if [[ $zsh_eval_context[-1] = loadautofunc ]]; then _godwit "$@"; else compdef _godwit godwit; fi
`
}

function commandArm({ path, commands, options, hasSettings, arguments: all }: CommandShape) {
  const words = [
    `commands=(${commands.map((each) => described(each.path.at(-1)!, each.about)).join(' ')})`,
    `options=(${options.map(({ flag, about }) => described(flag, about)).join(' ')})`,
    ...(hasSettings ? ['settings=1'] : []),
    ...(all[0] ? [`arguments='${offered(all[0])}'`] : []),
  ]
  return `  '${path.join(' ')}') ${words.join(' ')} ;;`
}

/** `'name:about'`, quoted for the shell. */
const described = (name: string, about: string): string =>
  `'${`${name}:${about}`.replaceAll("'", "'\\''")}'`
