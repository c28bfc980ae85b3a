import { readFileSync, statSync } from 'node:fs'

/**
 * If the process runs as root, permanently changes its user to the owner of the directory: the service, which runs as the owner,
 * could not read files that root creates there. Returns the name of the owner if the user was changed.
 */
export function switchUserToOwnerOf(directory: string): string | undefined {
  const found = statSync(directory, { throwIfNoEntry: false })
  if (process.getuid?.() !== 0 || !found?.isDirectory() || found.uid === 0) return undefined
  const { uid, gid } = found
  const name = findUserName(uid)
  // The service may have access to the repositories through a group.
  if (name === undefined) process.setgroups?.([gid])
  else (process as typeof process & InitGroups).initgroups(name, gid)
  process.setgid?.(gid)
  process.setuid?.(uid)
  return name ?? `user ${uid}`
}

/** Exists in Node on every Unix, but not in its types. */
interface InitGroups {
  initgroups(user: string, group: number): void
}

export const userName = (uid: number): string => findUserName(uid) ?? `user ${uid}`

function findUserName(uid: number): string | undefined {
  let users: string
  try {
    users = readFileSync('/etc/passwd', 'utf8')
  } catch {
    return undefined
  }
  return new RegExp(`^([^:\\n]+):[^:\\n]*:${uid}:`, 'm').exec(users)?.[1]
}
