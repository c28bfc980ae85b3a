import { posix } from 'node:path'

/** HTML text. Only `html` and the Markdown renderer make it, and both escape what people wrote. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | string | number | null | undefined | false | readonly Value[]

/** A template tag that escapes every value except Html. Lists are joined; null, undefined and false are left out. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  const add = (text: string, value: Value, index: number) => text + toText(value) + parts[index + 1]
  return new Html(values.reduce(add, parts[0]!))
}

function toText(value: Value): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value))
  return value ? value.map(toText).join('') : ''
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string =>
  showControls(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!)

/** Characters that reorder other text, and control characters except tabs and line breaks. */
const CONTROLS = /[\u202a-\u202e\u2066-\u2069[\p{Cc}--[\t\n\r]]]/gv

/** Makes characters visible that would change how the text around them is shown. */
export function showControls(text: string): string {
  return text
    .toWellFormed()
    .replace(CONTROLS, (character) =>
      character < '\u2000' ? '\ufffd' : `‹U+${character.charCodeAt(0).toString(16).toUpperCase()}›`,
    )
}

/** Returns the relative URL that leads from one file of the site to another. */
export function relativeUrl(from: string, to: string): string {
  const [, path = '', fragment = ''] = /^([^#]*)(#.*)?$/s.exec(to) ?? []
  const steps = posix.relative(posix.dirname(from), path).split('/')
  return steps.map(encodeURIComponent).join('/') + fragment
}

/** Returns a name for a file that is valid on every file system. Different names can become the same. */
export function safeName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}_.-]+/gu, '_')
    .replace(/^[.-]+|\.+$/g, '_')
  // File systems limit names to 255 bytes; the end has the extension.
  return Array.from(plain).slice(-60).join('') || '_'
}

/** Returns the name, with a number if it is taken, and adds it to `taken`. */
export function uniqueName(name: string, taken: Set<string>): string {
  let unique = name
  // File systems may ignore case.
  for (let n = 2; taken.has(unique.toLowerCase()); n++) unique = `${name}-${n}`
  taken.add(unique.toLowerCase())
  return unique
}

/** Extensions that web servers know, with types that no browser runs. */
const PASSIVE = new Set(
  [
    'avif bmp gif jpeg jpg png webp mov mp3 mp4 ogg wav webm csv json log pdf txt docx odp ods odt pptx xlsx',
    '7z bz2 gz tar tgz xz zip',
  ].flatMap((extensions) => extensions.split(' ')),
)

/**
 * Returns a safe name for a file that people uploaded, which ends in `.txt` unless its extension is a known one. It has no other
 * extension, because servers such as Apache heed all of them.
 */
export function passiveName(name: string): string {
  const parts = safeName(name).split('.')
  const extension =
    parts.length > 1 && PASSIVE.has(parts.at(-1)!.toLowerCase()) ? parts.pop() : 'txt'
  return `${parts.join('_')}.${extension}`
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec'.split(' ')

/** Returns the day of a time, or the text itself if it is not a time. Faster than `Intl.DateTimeFormat`, which takes 3 µs. */
export function formatDay(at: string): string {
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) return at
  return `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]} ${time.getUTCFullYear()}`
}

/** Shows the day, with the exact time as a tooltip. */
export function timeHtml(at: string): Html {
  if (Number.isNaN(Date.parse(at))) return html`<span>${at}</span>`
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}" title="${iso.slice(0, 16).replace('T', ' ')} UTC">${formatDay(at)}</time>`
}
