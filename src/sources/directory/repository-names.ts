const PLAIN = /^[A-Za-z0-9._-]+$/

/** Why neither an owner nor a repository can have this name; undefined when both can. */
export function nameRefusal(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'it has no name'
  if (!PLAIN.test(name))
    return 'its name has characters other than letters, digits, ".", "_" and "-"'
  if (/\.git$/i.test(name)) return 'its name would end in .git'
  return undefined
}

/** Names are one without regard to case: who comes first in order has it. */
export interface TakenNames {
  refusal(name: string): string | undefined
  take(name: string): void
}

export function takenNames(): TakenNames {
  const taken = new Map<string, string>()
  return {
    refusal(name) {
      const first = taken.get(name.toLowerCase())
      return first === undefined ? undefined : `its name differs only in case from ${first}`
    },
    take(name) {
      taken.set(name.toLowerCase(), name)
    },
  }
}

/** `site.wiki` is the wiki of `site` where there is a `site`, and a repository like any other where there is none. */
export function isWikiName(name: string, isThere: (name: string) => boolean): boolean {
  const of = name.slice(0, -'.wiki'.length)
  return name.endsWith('.wiki') && isThere(of) && !isWikiName(of, isThere)
}
