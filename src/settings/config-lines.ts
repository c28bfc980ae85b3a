/** `name = value`, as somebody wrote it. */
export interface ConfigLine {
  name: string
  text: string
  line: number
}

/** A name, then its value after `=` or a space. */
const LINE = /^([^\s=]+)(?:\s*=\s*|\s+|$)(.*)$/s
const NAME = /^[\w-]+$/

/** What cannot be read as a setting is a mistake, with its line. */
export function readConfigLines(
  text: string,
  path: string,
): { lines: ConfigLine[]; mistakes: string[] } {
  const lines: ConfigLine[] = []
  const mistakes: string[] = []
  for (const [index, each] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    const written = each.trim()
    if (written === '' || written.startsWith('#')) continue
    const line = index + 1
    const refuse = (why: string) => mistakes.push(`${path}:${line}: ${why}`)
    const [, name = '', rest = ''] = LINE.exec(written) ?? []
    if (!NAME.test(name)) {
      refuse('not a setting: write NAME = VALUE, or begin the line with # for a comment')
      continue
    }
    const value = valueIn(rest)
    if (value === undefined) refuse(`${name}: the quotes are not closed, or text follows them`)
    else if (value === '') refuse(`${name}: no value; remove the line, or put # before it`)
    else lines.push({ name, text: value, line })
  }
  return { lines, mistakes }
}

/** What follows a space and `#` is a comment, unless quotes are around it; undefined where the quotes are wrong. */
function valueIn(rest: string): string | undefined {
  const [quote] = rest
  if (quote === '"') {
    const inside = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/s.exec(rest)?.[1]
    return inside?.replace(/\\(["\\])/g, '$1')
  }
  if (quote === "'") return /^'([^']*)'\s*(?:#.*)?$/s.exec(rest)?.[1]
  return rest.replace(/(^|\s+)#.*$/s, '')
}
