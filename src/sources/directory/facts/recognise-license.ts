/** The minimum similarity to a known licence, measured on the licence files of a few hundred published packages. */
const MIN_SIMILARITY = 0.92

/** A file with fewer words, such as `see the README`, is not compared. */
const MIN_WORDS = 20

let knownLicenses: ReturnType<typeof loadLicenses> | undefined

/** Returns the SPDX id of the licence that shares most words with the text; null if none is similar enough. */
export async function recogniseLicense(text: string): Promise<string | null> {
  const words = distinctWords(text)
  if (words.size < MIN_WORDS) return null
  knownLicenses ??= loadLicenses()
  let best: string | null = null
  let bestScore = MIN_SIMILARITY
  // The known licences are in order of preference: the first of equals wins.
  for (const known of await knownLicenses) {
    const score = similarity(words, known.words, bestScore)
    if (score > bestScore) {
      best = known.id
      bestScore = score
    }
  }
  return best
}

/** The texts take megabytes of memory and most processes never need them, so they are loaded on first use. */
async function loadLicenses() {
  const { default: licenses } = await import('spdx-license-list/full.js')
  const ids = Object.keys(licenses).filter((id) => plainId(id) === id || !(plainId(id) in licenses))
  // Of ids with the same text the shortest is the usual one: MPL-2.0 before MPL-2.0-no-copyleft-exception.
  ids.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return ids.flatMap((id) =>
    variantsOf(licenses[id]!.licenseText).map((variant) => ({ id, words: distinctWords(variant) })),
  )
}

/** GitHub's API uses GPL-3.0 where SPDX, since 2018, has -only and -or-later, which share one text. */
function plainId(id: string): string {
  return id.replace(/(?:-only|-or-later|\+)$/, '')
}

/** Many licence files omit what follows the terms: how to apply them, or the GPL that the LGPL extends. */
function variantsOf(text: string): string[] {
  const [terms, ...appendix] = text.split(/^\s*END OF TERMS AND CONDITIONS/m)
  const [lesser, ...gpl] = text.split(/^GNU GENERAL PUBLIC LICENSE\s+Version 3/m)
  return [
    text,
    ...(appendix.length > 0 ? [terms!] : []),
    ...(gpl.length > 0 && lesser!.includes('LESSER') ? [lesser!] : []),
  ]
}

/** Omits what differs between projects: the copyright holder and year, links, and comments in Markdown. */
function distinctWords(text: string): Set<string> {
  const terms = text
    .toLowerCase()
    .replace(/<!--.{0,400}?-->/gs, ' ')
    .replace(/^.*$/gm, (line) => (namesHolder(line) ? ' ' : line))
    .replace(/https?:\/\/\S+/g, ' ')
  return new Set(terms.match(/[a-z][a-z']+|\d+/g))
}

function namesHolder(line: string): boolean {
  return /\bcopyright\b/.test(line) && /\(c\)|©|\d{4}|<year>/.test(line)
}

/** Sørensen–Dice coefficient; returns 0 early if the sizes of the sets alone keep it at or below `atLeast`. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>, atLeast: number): number {
  const total = a.size + b.size
  if (2 * Math.min(a.size, b.size) <= atLeast * total) return 0
  return (2 * a.intersection(b).size) / total
}
