/** The pattern of a UUID in lower case. */
export const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

/**
 * Matches a link to an attachment in a text of a forge: `/attachments/UUID`, also below a repository, with or without the forge's
 * URL. It does not match that path on another host.
 */
function linkPattern(forgeUrl: string): RegExp {
  const basePath = RegExp.escape(new URL(forgeUrl).pathname.replace(/\/$/, ''))
  return new RegExp(
    `(?<![\\w.:/%-])(?:${RegExp.escape(forgeUrl)}|${basePath})?(?:/[\\w.-]+/[\\w.-]+)?/attachments/(${UUID})(?![\\w-])`,
    'gi',
  )
}

/** Returns each attachment that a text links to, with the name that the link gives it. */
export function linkedAttachments(body: string, forgeUrl: string) {
  const found = new Map<string, string>()
  for (const match of body.matchAll(linkPattern(forgeUrl))) {
    const uuid = match[1]!.toLowerCase()
    if (!found.get(uuid)) found.set(uuid, nameBefore(body.slice(0, match.index)))
  }
  return [...found].map(([uuid, name]) => ({ uuid, name }))
}

/** Returns the name of `![name](` or `[name](` at the end of the text. */
const nameBefore = (text: string): string => /\[([^\][\n]{1,200})\]\($/.exec(text)?.[1] ?? ''

/** Replaces each link to an attachment with the URL that `urlOf` returns. A link for which it returns undefined is not changed. */
export function rewriteAttachmentLinks(
  body: string,
  forgeUrl: string,
  urlOf: (uuid: string) => string | undefined,
): string {
  return body.replace(
    linkPattern(forgeUrl),
    (link, uuid: string) => urlOf(uuid.toLowerCase()) ?? link,
  )
}
