const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

/**
 * An address of an attachment as texts of a forge have it: `/attachments/UUID`, below a repository too, with or without where
 * the forge lives. The same path on another host is something else.
 */
function linkPattern(forge: string): RegExp {
  const { pathname } = new URL(forge)
  const below = escaped(pathname.replace(/\/$/, ''))
  return new RegExp(
    `(?<![\\w.:/%-])(?:${escaped(forge)}|${below})?(?:/[\\w.-]+/[\\w.-]+)?/attachments/(${UUID})(?![\\w-])`,
    'gi',
  )
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

/** The attachments that a text links to, each once, with the name that the link gives it. */
export function linkedAttachments(body: string, forge: string): { uuid: string; name: string }[] {
  const found = new Map<string, string>()
  for (const match of body.matchAll(linkPattern(forge))) {
    const uuid = (match[1] ?? '').toLowerCase()
    const name = nameBefore(body.slice(0, match.index))
    if (!found.get(uuid)) found.set(uuid, name)
  }
  return [...found].map(([uuid, name]) => ({ uuid, name }))
}

/** `![name](` or `[name](` right before the address. */
const nameBefore = (text: string): string => /\[([^\][\n]{1,200})\]\($/.exec(text)?.[1] ?? ''

/**
 * The same text with the addresses of attachments as the records have them: `addressOf` gives the new one, or undefined for
 * what is not among the records and stays as it is. Pure: facts keep texts as the forge has them, and whoever writes records
 * knows where those live.
 */
export function rewriteAttachmentLinks(
  body: string,
  forge: string,
  addressOf: (uuid: string) => string | undefined,
): string {
  return body.replace(
    linkPattern(forge),
    (link, uuid: string) => addressOf(uuid.toLowerCase()) ?? link,
  )
}
