import { join } from 'node:path'
import { hasCode } from '../../lib/errno.ts'
import { LimitedLines } from '../../lib/limited-lines.ts'
import { isName } from '../../lib/names.ts'
import type { RefusedEntry, StatedMember, StatedMembers } from '../source.ts'
import { readOwnFile } from './files/own-file.ts'
import { reasonOf } from './files/why-unreadable.ts'

/** In an owner's directory, or the root where all repositories are one owner's: a login and a role on each line. */
export const MEMBERS_FILE = 'godwit-members'

const LARGEST_FILE = 1024 * 1024

export async function readMembersFile(
  root: string,
  owner: string,
  path: string,
): Promise<StatedMembers> {
  try {
    const text = (await readOwnFile(Buffer.from(join(root, path)), LARGEST_FILE)).toString()
    return { owner, ...parseMembers(text, path) }
  } catch (error) {
    const reason = hasCode(error, 'EFBIG') ? 'larger than 1 MiB' : reasonOf(error)
    if (reason === undefined) throw error
    return { owner, members: undefined, warnings: [{ path, reason }] }
  }
}

/** Lines that mean nothing are warnings; of two lines for one person the later counts. */
export function parseMembers(
  text: string,
  path: string,
): { members: StatedMember[]; warnings: RefusedEntry[] } {
  const members = new Map<string, StatedMember>()
  const warnings: RefusedEntry[] = []
  const reason = 'expected a login and "owner" or "member"'
  const lines = new LimitedLines(({ text }) => warnings.push({ path: text, reason }))
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .entries()) {
    const words = line
      .replace(/#.*/, '')
      .trim()
      .split(/[\s:]+/)
    if (words[0] === '') continue
    const member = memberOf(words)
    if (member) members.set(member.login.toLowerCase(), member)
    else lines.add(path, `${path}:${index + 1}`)
  }
  lines.end()
  return { members: [...members.values()], warnings }
}

function memberOf([login = '', role = '', ...more]: string[]): StatedMember | undefined {
  const known = role.toLowerCase()
  if (more.length > 0 || !isName(login) || (known !== 'owner' && known !== 'member'))
    return undefined
  return { login, role: known }
}
