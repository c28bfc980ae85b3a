/** Names are one without regard to case: who comes first in order has it. */
export interface TakenNames {
  /** Who has it already, spelled otherwise. */
  twinOf(name: string): string | undefined
  take(name: string): void
}

export function takenNames(): TakenNames {
  const taken = new Map<string, string>()
  return {
    twinOf: (name) => taken.get(name.toLowerCase()),
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
