import { readFileSync, statSync } from 'node:fs'

/**
 * What root does to the service's data, its owner would do: files that root made there would be closed to the service.
 * Returns the owner where this process has become that user, for good.
 */
export function actAsOwnerOf(directory: string): string | undefined {
  const found = statSync(directory, { throwIfNoEntry: false })
  if (process.getuid?.() !== 0 || !found?.isDirectory() || found.uid === 0) return undefined
  const { uid, gid } = found
  const name = knownUser(uid)
  // Whoever shares the repositories with the service may do so by a group.
  if (name === undefined) process.setgroups?.([gid])
  else (process as typeof process & InitGroups).initgroups(name, gid)
  process.setgid?.(gid)
  process.setuid?.(uid)
  return userName(uid)
}

/** Known to every Node on a Unix, and not to its types. */
interface InitGroups {
  initgroups(user: string, group: number): void
}

/** As people know the user. */
export const userName = (uid: number): string => knownUser(uid) ?? `user ${uid}`

function knownUser(uid: number): string | undefined {
  let users: string
  try {
    users = readFileSync('/etc/passwd', 'utf8')
  } catch {
    return undefined
  }
  return new RegExp(`^([^:\\n]+):[^:\\n]*:${uid}:`, 'm').exec(users)?.[1]
}
