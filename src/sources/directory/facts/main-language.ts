import type { Language } from 'linguist-languages'

export interface LanguageTally {
  add(path: string, bytes: number): void
  /** The language with the most bytes; null where nothing is written in one. */
  main(): string | null
  /** Bytes by language, the most first. */
  all(): Record<string, number>
}

/** The languages whose files bear a name or an extension, and the one to assume when nothing else tells. */
interface Claim {
  languages: readonly Language[]
  usual: Language | undefined
  /** 0 where nobody else claims it, 1 where it is typical of `usual`, 2 where it is anybody's. */
  doubt: 0 | 1 | 2
}

interface Tables {
  byFilename: ReadonlyMap<string, Claim>
  byExtension: ReadonlyMap<string, Claim>
}

/** Other people's code, generated code and text about the code: what a repository holds and is not written in. */
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
 * In this order they get an extension that several languages claim. Markdown and SQL are here to win and then not to
 * count, being prose and data.
 */
const BETTER_KNOWN = [
  ...['Markdown', 'SQL', 'C', 'C++', 'C#', 'JavaScript', 'PHP', 'HTML', 'Perl', 'Rust', 'R', 'F#'],
  ...['OCaml', 'Objective-C', 'Fortran', 'Assembly', 'Verilog', 'D', 'Lex', 'M4', 'BASIC', 'Roff'],
  ...['ActionScript', 'Lean', 'Scheme', 'Odin', 'FreeMarker', 'Cairo'],
]

/** Longer than any in the table; names come from trees that anybody may have made. */
const LONGEST_EXTENSION = 40

let loaded: Promise<Tables> | undefined

/** Counts bytes by the names of files, as GitHub does for all but ambiguous ones, whose content it reads. */
export async function languageTally(): Promise<LanguageTally> {
  loaded ??= loadTables()
  const { byFilename, byExtension } = await loaded
  const bytesOf = new Map<Claim, number>()

  return {
    add(path, bytes) {
      if (NOT_COUNTED.test(path)) return
      const filename = path.slice(path.lastIndexOf('/') + 1)
      const claim = byFilename.get(filename) ?? byLongestExtension(byExtension, filename)
      if (claim) bytesOf.set(claim, (bytesOf.get(claim) ?? 0) + bytes)
    },
    main: () => totals(bytesOf)[0]?.[0] ?? null,
    all: () => Object.fromEntries(totals(bytesOf)),
  }
}

/** Some eight hundred modules: loaded when the first tree is read. */
async function loadTables(): Promise<Tables> {
  const languages: Language[] = Object.values(await import('linguist-languages'))
  return {
    byFilename: claims(languages, (language) => language.filenames),
    byExtension: claims(languages, (language) => language.extensions),
  }
}

function claims(
  languages: Language[],
  namesOf: (language: Language) => readonly string[] | undefined,
): Map<string, Claim> {
  const named = languages.flatMap((language) =>
    (namesOf(language) ?? []).map((name) => ({ name, language })),
  )
  const claimants = Map.groupBy(named, ({ name }) => name)
  return new Map(
    [...claimants].map(([name, claimed]) => [
      name,
      claimOf(
        name,
        claimed.map(({ language }) => language),
      ),
    ]),
  )
}

/** The usual one is who alone has it as first extension, else the best known; else nobody: better than wrong. */
function claimOf(name: string, languages: readonly Language[]): Claim {
  if (languages.length === 1) return { languages, usual: languages[0], doubt: 0 }
  const typical = languages.filter((language) => language.extensions?.[0] === name)
  if (typical.length === 1) return { languages, usual: typical[0], doubt: 1 }
  const known = BETTER_KNOWN.find((best) => languages.some((language) => language.name === best))
  const usual = languages.find((language) => language.name === known)
  return { languages, usual, doubt: usual && typical.includes(usual) ? 1 : 2 }
}

/** `app.d.ts` is tried as `.d.ts`, then as `.ts`. */
function byLongestExtension(byExtension: Tables['byExtension'], filename: string) {
  const name = filename.slice(-LONGEST_EXTENSION).toLowerCase()
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const claim = byExtension.get(name.slice(dot))
    if (claim) return claim
  }
  return undefined
}

/** The most bytes first. */
function totals(bytesOf: ReadonlyMap<Claim, number>): [language: string, bytes: number][] {
  const total = new Map<string, number>()
  const surestFirst = [...bytesOf].sort(([a], [b]) => a.doubt - b.doubt)
  for (const [claim, bytes] of surestFirst) {
    const language = likeliest(claim, total)
    // Data and prose do not count.
    if (!language || bytes === 0 || !/^(?:programming|markup)$/.test(language.type)) continue
    total.set(countsAs(language), (total.get(countsAs(language)) ?? 0) + bytes)
  }
  return [...total].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
}

/** A `.h` belongs to whichever of C, C++ and Objective-C the rest of the repository is written in. */
function likeliest({ languages, usual }: Claim, total: ReadonlyMap<string, number>) {
  const written = (language: Language) => total.get(countsAs(language)) ?? 0
  const most = languages.reduce((a, b) => (written(b) > written(a) ? b : a))
  return written(most) > 0 ? most : usual
}

/** Dialects count for the language they belong to. */
function countsAs(language: Language): string {
  return language.group ?? language.name
}
