export const LONGEST_PATH = 4096

/** Why a path must not be written to or taken from an archive; undefined when it is fit for both. */
export function unsafePath(path: string): string | undefined {
  if (path.startsWith('/')) return 'is not relative'
  if (path.includes('\0')) return 'contains NUL'
  if (!path.isWellFormed()) return 'is not well-formed Unicode'
  if (Buffer.byteLength(path) > LONGEST_PATH) return `is longer than ${LONGEST_PATH} bytes`
  const bad = path.split('/').find((part) => part === '' || part === '.' || part === '..')
  return bad === undefined ? undefined : `has a part that is ${bad === '' ? 'empty' : `"${bad}"`}`
}

/** A path as others write it, without what has no meaning: `./a//b/` is `a/b`, and `./` is '', the root itself. */
export function plainPath(name: string): { path: string; isFolder: boolean } {
  const isFolder = /(?:^|\/)\.?$/.test(name)
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  const path = parts.join('/')
  return { path: name.startsWith('/') ? `/${path}` : path, isFolder }
}
