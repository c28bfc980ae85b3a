import { join } from 'node:path'
import { readRegularFile } from '@godwit/git/files/regular-file'
import { fileErrorReason } from '@godwit/git/files/repository-errors'
import { hasCode } from '@godwit/lib/errno'
import { LimitedLines } from '@godwit/lib/findings'
import { isName } from '@godwit/lib/names'
import type { ConfiguredMember, ConfiguredMembers, RefusedEntry } from '../source.ts'

/**
 * The name of the file with the members of an owner: a login and a role on each line. It is in the owner's directory, or in the root if
 * all repositories belong to one owner.
 */
export const MEMBERS_FILE = 'godwit-members'

const MAX_FILE_BYTES = 1024 * 1024

export async function readMembersFile(
  root: string,
  owner: string,
  path: string,
): Promise<ConfiguredMembers> {
  try {
    const text = (await readRegularFile(join(root, path), MAX_FILE_BYTES)).toString()
    return { owner, ...parseMembers(text, path) }
  } catch (error) {
    const reason = hasCode(error, 'EFBIG') ? 'larger than 1 MiB' : fileErrorReason(error)
    if (reason === undefined) throw error
    return { owner, members: undefined, warnings: [{ path, reason }] }
  }
}

/** Reports invalid lines as warnings. The last line for a login takes precedence. */
export function parseMembers(text: string, path: string) {
  const members = new Map<string, ConfiguredMember>()
  const warnings: RefusedEntry[] = []
  const reason = 'expected a login and "owner" or "member"'
  const invalidLines = new LimitedLines(({ text }) => warnings.push({ path: text, reason }))
  const allLines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  for (const [index, line] of allLines.entries()) {
    const content = line.replace(/#.*/, '').trim()
    const words = content.split(/[\s:]+/)
    if (words[0] === '') continue
    const member = memberOf(words)
    if (member) members.set(member.login.toLowerCase(), member)
    else invalidLines.add(path, `${path}:${index + 1}`)
  }
  invalidLines.end()
  return { members: [...members.values()], warnings }
}

function memberOf([login = '', word = '', ...more]: string[]): ConfiguredMember | undefined {
  const role = (['owner', 'member'] as const).find((each) => each === word.toLowerCase())
  return role && isName(login) && more.length === 0 ? { login, role } : undefined
}
