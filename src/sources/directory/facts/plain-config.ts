const SECTION = /^[ \t]*\[([a-z0-9.-]+)(?: "([^"\\]*)")?\][ \t]*$/i
/** Without quotes, comments and tabs within the value: what those mean depends on the age of git. */
const ENTRY = /^[ \t]*([a-z][a-z0-9-]*)[ \t]*=[ \t]*([^"\\#;\t]*?)[ \t]*$/i
const NOTHING = /^[ \t]*(?:[#;].*)?$/

/**
 * What a config says that holds nothing but plain lines, as most do: it takes longer to start git than to read all the rest.
 * Undefined where only git can tell.
 */
export function plainSettings(text: string): Map<string, string[]> | undefined {
  // Git ends lines at a carriage return too, and stops at a null.
  if (/[\r\0]/.test(text)) return undefined
  const settings = new Map<string, string[]>()
  let section: string | undefined
  for (const line of text.split('\n')) {
    if (NOTHING.test(line)) continue
    const [, name, below] = SECTION.exec(line) ?? []
    if (name !== undefined) {
      section = name.toLowerCase() + (below === undefined ? '' : `.${below}`)
      continue
    }
    const [, key, value] = ENTRY.exec(line) ?? []
    if (section === undefined || key === undefined || value === undefined) return undefined
    const full = `${section}.${key.toLowerCase()}`
    const values = settings.get(full) ?? []
    values.push(value)
    settings.set(full, values)
  }
  return settings
}
