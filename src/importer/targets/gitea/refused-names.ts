/** Routes of the server itself, where an account would be in the way. */
const RESERVED_ACCOUNTS = new Set(
  [
    '. .. .well-known admin api assets attachments avatar avatars captcha commits debug devtest error explore favicon.ico',
    'ghost issues login manifest.json metrics milestones new notifications org pulls raw repo repo-avatars robots.txt search',
    'serviceworker.js ssh_info swagger.v1.json user v2 gitea-actions forgejo-actions',
  ].flatMap((names) => names.split(' ')),
)
const RESERVED_REPOSITORIES = new Set(['.', '..', '-'])

/** Why no version of Gitea or Forgejo since 1.15 surely takes an account of this name; undefined where all do. */
export function accountRefusal(name: string): string | undefined {
  if (RESERVED_ACCOUNTS.has(name.toLowerCase())) return 'the name is reserved'
  if (/\.(?:keys|gpg|rss|atom|png)$/i.test(name)) return 'the name ends in a reserved way'
  if (name.length > 40) return 'the name has more than 40 characters'
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    return 'the name may have only letters, digits, ".", "_" and "-", and begins with a letter or a digit'
  if (/[._-]{2}|[._-]$/.test(name))
    return 'the name has two of ".", "_" and "-" side by side, or one at its end'
  return undefined
}

export function repositoryRefusal(name: string): string | undefined {
  if (RESERVED_REPOSITORIES.has(name)) return 'the name is reserved'
  if (/\.(?:git|wiki|rss|atom)$/i.test(name)) return 'the name ends in a reserved way'
  if (name.length > 100) return 'the name has more than 100 characters'
  if (!/^[A-Za-z0-9._-]+$/.test(name))
    return 'the name may have only letters, digits, ".", "_" and "-"'
  if (name.includes('..')) return 'the name has ".." in it'
  return undefined
}
