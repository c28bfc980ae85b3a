const compiled = new Map<string, RegExp | null>()
const MAX_REMEMBERED = 10_000

/** A pattern of gitolite's configuration; null where only Perl understands it. */
export function perlPattern(pattern: string): RegExp | null {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  if (compiled.size >= MAX_REMEMBERED) compiled.clear()
  const made = compile(pattern)
  compiled.set(pattern, made)
  return made
}

function compile(pattern: string): RegExp | null {
  // Letters after a backslash that mean another thing to Perl, or nothing here.
  if (/\\[AzZGQEKRhHXNpPlLuU]/.test(pattern)) return null
  try {
    return new RegExp(pattern)
  } catch {
    return null
  }
}
