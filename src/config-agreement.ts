interface Together {
  layout?: string
  owner?: string
  webUrl?: string
  cloneUrl?: string
  sshUrl?: string
}

/** What is wrong with settings that are right each by itself, by the name of the setting. */
export function disagreements(values: Together): { name: keyof Together; why: string }[] {
  const { layout, owner } = values
  const found: { name: keyof Together; why: string }[] = []
  if (layout === 'flat' && owner === undefined)
    found.push({ name: 'owner', why: 'must be set with --layout flat' })
  if (layout === 'owner/name' && owner !== undefined)
    found.push({ name: 'owner', why: 'is only for --layout flat and any-depth' })
  for (const name of ['webUrl', 'cloneUrl', 'sshUrl'] as const) {
    // Where there is one owner, nobody need be told.
    if (layout !== 'flat' && values[name] !== undefined && !values[name].includes('{owner}'))
      found.push({ name, why: 'must contain {owner} and {name}' })
  }
  return found
}
