import { readFileSync, statSync } from 'node:fs'
import { UserError } from '@godwit/lib/user-error'

/**
 * If the process runs as root, permanently changes its user to the owner of the directory: the service, which runs as the owner,
 * could not read files that root creates there. Returns the name of the owner if the user was changed. Throws if the owner cannot
 * read the program, which loads the rest of its code later.
 */
export function switchUserToOwnerOf(
  directory: string,
  program = import.meta.filename,
): string | undefined {
  const found = statSync(directory, { throwIfNoEntry: false })
  if (process.getuid?.() !== 0 || !found?.isDirectory() || found.uid === 0) return undefined
  const { uid, gid } = found
  const name = findUserName(uid)
  // The service may have access to the repositories through a group.
  if (name === undefined) process.setgroups?.([gid])
  else (process as typeof process & InitGroups).initgroups(name, gid)
  if (!canRead(program, { uid, gid }))
    throw new UserError(
      `${program} cannot be read by ${userName(uid)}, the owner of ${directory}, as whom root runs this command: install Godwit where every user may read it`,
    )
  process.setgid?.(gid)
  process.setuid?.(uid)
  return name ?? `user ${uid}`
}

/** Returns whether the user may read the file. `access` would check the permissions of root, who runs the process. */
function canRead(file: string, { uid, gid }: { uid: number; gid: number }): boolean {
  process.setegid?.(gid)
  process.seteuid?.(uid)
  try {
    readFileSync(file)
    return true
  } catch {
    return false
  } finally {
    process.seteuid?.(0)
    process.setegid?.(0)
  }
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
