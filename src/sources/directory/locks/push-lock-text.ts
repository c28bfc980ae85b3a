/**
 * Our value in the text of a config. Git trims the slash, so it hides every ref from pushes; that it is spelt with one marks it
 * as ours, to be told from what the host hides for reasons of its own. Bytes are kept as characters (latin1): nothing else of
 * the config is understood, or changed.
 */
const BLOCK = '[receive]\n\thideRefs = refs/'
const AT_END = /(?:^|\n)\[receive\]\n\thideRefs = refs\/\n?$/
const AT_END_OF_A_LAST_LINE = /(?:^|\n)\[receive\]\n\thideRefs = refs\/$/
const WHOLE_SECTION = /(^|\n)\[receive\]\n\thideRefs = refs\/\n(?=[ \t]*\[|$)/g
const LINE = /^[ \t]*hiderefs[ \t]*=[ \t]*refs\/[ \t]*\r?\n?$/i
const SECTION = /^[ \t]*\[([^\]]*)\]/

/** As `git config --list -z` tells it. */
export const OUR_SETTING = 'receive.hiderefs\nrefs/'

/** At the end, where nothing that the config holds or includes comes after it; a last line without an end stays one. */
export function withLock(config: string): string {
  if (AT_END.test(config)) return config
  const open = withoutLock(config)
  return open === '' || open.endsWith('\n') ? `${open}${BLOCK}\n` : `${open}\n${BLOCK}`
}

export function withoutLock(config: string): string {
  const rest = config.replace(AT_END_OF_A_LAST_LINE, '').replace(WHOLE_SECTION, '$1')
  return withoutLines(rest)
}

/** Where the host has put more into our section since, or git has put our value into the host's. */
function withoutLines(config: string): string {
  let isReceive = false
  const kept = config.split(/(?<=\n)/).filter((line) => {
    const section = SECTION.exec(line)?.[1]
    if (section !== undefined) isReceive = section.trim().toLowerCase() === 'receive'
    return !(isReceive && LINE.test(line))
  })
  return kept.join('')
}
