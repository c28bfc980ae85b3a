interface Known {
  id: string
  words: ReadonlySet<string>
}

/** Below this a text is another licence, or none; measured on the licence files of some hundred published packages. */
const ALIKE = 0.92

/** A file that says only `see the README` has too few words to be compared. */
const FEWEST_WORDS = 20

let knownLicenses: Promise<readonly Known[]> | undefined

/** The SPDX id of the licence that a text is, by the share of words it has in common with each known one. */
export async function recogniseLicense(text: string): Promise<string | null> {
  const words = errorText(text)
  if (words.size < FEWEST_WORDS) return null
  knownLicenses ??= loadLicenses()
  let best: string | null = null
  let bestScore = ALIKE
  // In order of preference, so that the first of several equals stays.
  for (const known of await knownLicenses) {
    const score = likeness(words, known.words, bestScore)
    if (score > bestScore) {
      best = known.id
      bestScore = score
    }
  }
  return best
}

/** The texts are megabytes and most processes never meet a licence, so they are loaded when the first one is met. */
async function loadLicenses(): Promise<Known[]> {
  const { default: licenses } = await import('spdx-license-list/full.js')
  const ids = Object.keys(licenses).filter((id) => plainId(id) === id || !(plainId(id) in licenses))
  // Of ids with the same words the shortest is the usual one: MPL-2.0 before MPL-2.0-no-copyleft-exception.
  ids.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return ids.flatMap((id) =>
    formsOf(licenses[id]!.licenseText).map((form) => ({ id, words: errorText(form) })),
  )
}

/** GitHub's API says GPL-3.0 where SPDX, since 2018, has -only and -or-later, whose texts are one and the same. */
function plainId(id: string): string {
  return id.replace(/(?:-only|-or-later|\+)$/, '')
}

/** Many files leave out what follows the terms: how to apply them, or the GPL that the LGPL builds on. */
function formsOf(text: string): string[] {
  const [terms, ...appendix] = text.split(/^\s*END OF TERMS AND CONDITIONS/m)
  const [lesser, ...gpl] = text.split(/^GNU GENERAL PUBLIC LICENSE\s+Version 3/m)
  return [
    text,
    ...(appendix.length > 0 ? [terms!] : []),
    ...(gpl.length > 0 && lesser!.includes('LESSER') ? [lesser!] : []),
  ]
}

/** Without what differs from one project to the next: who holds the rights and since when, links, remarks in Markdown. */
function errorText(text: string): Set<string> {
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

/** Sørensen–Dice; sets whose sizes alone keep them from reaching `atLeast` are not compared. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>, atLeast: number): number {
  const total = a.size + b.size
  if (2 * Math.min(a.size, b.size) <= atLeast * total) return 0
  return (2 * a.intersection(b).size) / total
}
