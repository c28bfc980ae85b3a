import table from './languages.json' with { type: 'json' }

/** A row of the table, which scripts/language-table.ts writes. */
interface Language {
  name: string
  type: string
  /** The language that a dialect belongs to. */
  group?: string
  filenames?: readonly string[]
  extensions?: readonly string[]
}

/** The languages that use a filename or extension, and the one to assume without other evidence. */
interface Candidates {
  languages: readonly Language[]
  usual: Language | undefined
  /** 0 for a single language, 1 if the extension is typical of `usual`, 2 otherwise. */
  ambiguity: 0 | 1 | 2
}

/** Third-party code, generated code and documentation, which GitHub does not count either. */
const NOT_COUNTED = new RegExp(
  [
    /(?:^|\/)(?:node_modules|bower_components|vendors?|(?:third|3rd)[-_]?party|externals?|deps)\//,
    /(?:^|\/)(?:dist|\.yarn|\.github|\.vscode|\.idea)\//,
    /^(?:docs?|documentation|man)\/|(?:^|\/)(?:examples|demos?|samples?|javadoc)\//,
    /[.-]min\.(?:js|css)$|(?:^|\/)(?:jquery|bootstrap)[^/]*\.(?:js|css)$/,
    /(?:^|\/)(?:configure|config\.(?:guess|sub)|libtool\.m4|gradlew(?:\.bat)?)$/,
  ]
    .map((pattern) => pattern.source)
    .join('|'),
  'i',
)

/**
 * If several languages use an extension, the first of these is assumed. Markdown and SQL are listed so that their files do not count:
 * they are prose and data.
 */
const PREFERRED = [
  ...['Markdown', 'SQL', 'C', 'C++', 'C#', 'JavaScript', 'PHP', 'HTML', 'Perl', 'Rust', 'R', 'F#'],
  ...['OCaml', 'Objective-C', 'Fortran', 'Assembly', 'Verilog', 'D', 'Lex', 'M4', 'BASIC', 'Roff'],
  ...['ActionScript', 'Lean', 'Scheme', 'Odin', 'FreeMarker', 'Cairo'],
]

/** Longer than any extension in the table. Bounds the work for long names. */
const MAX_EXTENSION_LENGTH = 40

let candidates: ReturnType<typeof groupByName> | undefined

/** Counts bytes by the names of files. GitHub does the same, but also reads the content of files with ambiguous names. */
export function languageCounter() {
  candidates ??= groupByName(table.languages)
  const { byFilename, byExtension } = candidates
  const bytesOf = new Map<Candidates, number>()

  return {
    add(path: string, bytes: number): void {
      if (NOT_COUNTED.test(path)) return
      const filename = path.slice(path.lastIndexOf('/') + 1)
      const candidates = byFilename.get(filename) ?? byLongestExtension(byExtension, filename)
      if (candidates) bytesOf.set(candidates, (bytesOf.get(candidates) ?? 0) + bytes)
    },
    /** Returns the language with the most bytes; null if no file has a known language. */
    main: () => totals(bytesOf)[0]?.[0] ?? null,
    /** Returns bytes by language, the largest first. */
    all: () => Object.fromEntries(totals(bytesOf)),
  }
}

function groupByName(languages: readonly Language[]) {
  return {
    byFilename: groupCandidates(languages, (language) => language.filenames),
    byExtension: groupCandidates(languages, (language) => language.extensions),
  }
}

function groupCandidates(
  languages: readonly Language[],
  namesOf: (language: Language) => readonly string[] | undefined,
): Map<string, Candidates> {
  const named = languages.flatMap((language) =>
    (namesOf(language) ?? []).map((name) => ({ name, language })),
  )
  const groups = Map.groupBy(named, ({ name }) => name)
  const languagesOf = (group: typeof named) => group.map(({ language }) => language)
  return new Map([...groups].map(([name, group]) => [name, candidatesOf(name, languagesOf(group))]))
}

/** The usual language is the only one with this as its first extension, otherwise the preferred one, otherwise none. */
function candidatesOf(name: string, languages: readonly Language[]): Candidates {
  if (languages.length === 1) return { languages, usual: languages[0], ambiguity: 0 }
  const typical = languages.filter((language) => language.extensions?.[0] === name)
  if (typical.length === 1) return { languages, usual: typical[0], ambiguity: 1 }
  const preferred = PREFERRED.find((name) => languages.some((language) => language.name === name))
  const usual = languages.find((language) => language.name === preferred)
  return { languages, usual, ambiguity: usual && typical.includes(usual) ? 1 : 2 }
}

/** Looks up `app.d.ts` as `.d.ts`, then as `.ts`. */
function byLongestExtension(byExtension: ReadonlyMap<string, Candidates>, filename: string) {
  const name = filename.slice(-MAX_EXTENSION_LENGTH).toLowerCase()
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const candidates = byExtension.get(name.slice(dot))
    if (candidates) return candidates
  }
  return undefined
}

/** Sorts by bytes, the largest first. */
function totals(bytesOf: ReadonlyMap<Candidates, number>): [language: string, bytes: number][] {
  const total = new Map<string, number>()
  const leastAmbiguousFirst = [...bytesOf].sort(([a], [b]) => a.ambiguity - b.ambiguity)
  for (const [candidates, bytes] of leastAmbiguousFirst) {
    const language = likeliest(candidates, total)
    // Data and prose do not count.
    if (!language || bytes === 0 || !/^(?:programming|markup)$/.test(language.type)) continue
    total.set(countsAs(language), (total.get(countsAs(language)) ?? 0) + bytes)
  }
  return [...total].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
}

/** Assigns a `.h` to the one of C, C++ and Objective-C with most bytes in the rest of the repository. */
function likeliest({ languages, usual }: Candidates, total: ReadonlyMap<string, number>) {
  const bytesIn = (language: Language) => total.get(countsAs(language)) ?? 0
  const most = languages.reduce((a, b) => (bytesIn(b) > bytesIn(a) ? b : a))
  return bytesIn(most) > 0 ? most : usual
}

/** Dialects count as the language that they belong to. */
function countsAs(language: Language): string {
  return language.group ?? language.name
}
