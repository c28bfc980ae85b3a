import { readFile, writeFile } from 'node:fs/promises'

/** `node scripts/contents.ts` updates the tables of contents of the long pages in docs. */
export const PAGES_WITH_CONTENTS = ['OPERATIONS', 'MOVING', 'SECURITY', 'COMPATIBILITY']
const TABLE = /(<!-- contents -->\n).*?(<!-- \/contents -->)/s

const locate = (page: string) => new URL(`../docs/${page}.md`, import.meta.url)

/** Returns the headings of a page with their anchors, as GitHub, Gitea and GitLab name them. */
export function headingsOf(text: string): { level: number; title: string; anchor: string }[] {
  const headings = text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^(#+) (.+)$/gm)
  const counts = new Map<string, number>()
  return Array.from(headings, ([, marks = '', title = '']) => {
    const name = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    return { level: marks.length, title, anchor: count === 0 ? name : `${name}-${count}` }
  })
}

/** Lists the sections, and behind each its own sections, so that a long page has a short table. */
function contentsOf(text: string): string {
  let table = ''
  for (const { level, title, anchor } of headingsOf(text)) {
    const link = `[${title}](#${anchor})`
    if (level === 2) table += `\n- ${link}`
    if (level === 3) table += ` · ${link}`
  }
  return `${table.trimStart()}\n`
}

export async function pageWithContents(page: string): Promise<{ before: string; after: string }> {
  const before = await readFile(locate(page), 'utf8')
  const after = before.replace(TABLE, (_, open, close) => open + contentsOf(before) + close)
  return { before, after }
}

if (import.meta.main)
  for (const page of PAGES_WITH_CONTENTS)
    await writeFile(locate(page), (await pageWithContents(page)).after)
