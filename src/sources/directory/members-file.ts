import { join } from 'node:path'
import { hasCode } from '../../lib/errno.ts'
import { LimitedLines } from '../../lib/limited-lines.ts'
import { isName } from '../../lib/names.ts'
import type { RefusedEntry, StatedMember, StatedMembers } from '../source.ts'
import { readRegularFile } from './files/regular-file.ts'
import { fileErrorReason } from './files/repository-errors.ts'

/** Has a login and a role on each line. It is in the owner's directory, or in the root where that belongs to one owner. */
export const MEMBERS_FILE = 'godwit-members'

const MAX_FILE_BYTES = 1024 * 1024

export async function readMembersFile(
  root: string,
  owner: string,
  path: string,
): Promise<StatedMembers> {
  try {
    const text = (await readRegularFile(join(root, path), MAX_FILE_BYTES)).toString()
    return { owner, ...parseMembers(text, path) }
  } catch (error) {
    const reason = hasCode(error, 'EFBIG') ? 'larger than 1 MiB' : fileErrorReason(error)
    if (reason === undefined) throw error
    return { owner, members: undefined, warnings: [{ path, reason }] }
  }
}

/** Reports invalid lines as warnings; the last line for a login counts. */
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
  const lowerCaseRole = role.toLowerCase()
  if (
    more.length > 0 ||
    !isName(login) ||
    (lowerCaseRole !== 'owner' && lowerCaseRole !== 'member')
  )
    return undefined
  return { login, role: lowerCaseRole }
}
