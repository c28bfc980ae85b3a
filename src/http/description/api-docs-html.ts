/** Text that is HTML already. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | undefined | false | readonly Part[]

/** Everything that is put in is escaped, but what is HTML already. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, next, i) => text + written(parts[i - 1]) + next))
}

function written(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return Array.isArray(part) ? part.map(written).join('') : ''
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (sign) => ENTITIES[sign]!)

/** The little of Markdown that descriptions use: paragraphs, and code between backticks. */
export function prose(markdown = ''): Html[] {
  return markdown.split('\n\n').map((paragraph) => html`<p>${inline(paragraph)}</p>`)
}

export function inline(markdown = ''): Part {
  return markdown.split('`').map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : piece))
}
