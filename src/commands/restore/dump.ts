import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type PeopleMap, readPeople } from '../../importer/people.ts'
import {
  accountRefusal,
  type DumpEvents,
  type DumpParts,
  dumpForGitea,
} from '../../importer/targets/gitea-dump.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { UsageError, UserError } from '../../lib/user-error.ts'
import { countInWords } from '../../records/record-file.ts'
import { print } from '../command-line.ts'

export interface DumpOptions {
  into: string
  strict?: boolean
  people?: string
  keepLinks?: boolean
  target?: string
}

/** `restore --as gitea-dump`. */
export async function runDump(
  parts: Pick<DumpParts, 'git' | 'open'>,
  repositories: string[],
  { into, strict = false, people: file, keepLinks = false, target }: DumpOptions,
  signal: AbortSignal,
): Promise<void> {
  const place = resolve(into)
  if (/[%?#]/.test(place))
    throw new UsageError(`restore-repo reads files by URL: ${place} must not have %, ? or # in it`)
  const asked = { repositories, keepLinks, target: baseUrl(target) }
  const people = await peopleIn(file)
  if (asked.target === '' && [...people.values()].some(({ id }) => id !== undefined))
    print('warning: account-id counts only with --target: all authors stay original authors')
  let [failed, skipped, hidden, done] = [0, 0, 0, 0]
  const tell = (news: DumpEvents) => {
    skipped += 'leftBehind' in news ? news.leftBehind.length : 1
    for (const line of newsInWords(news)) print(escapeForTerminal(line))
  }
  const all = dumpForGitea({ ...parts, ...asked, into: place, people, tell }, signal)
  for await (const { fullName, faults, isPrivate } of all) {
    if (faults.length > 0) failed += 1
    else {
      done += 1
      hidden += Number(isPrivate)
      print(`restored: ${escapeForTerminal(fullName)}`)
    }
    for (const fault of faults) print(escapeForTerminal(`failed: ${fullName}: ${fault}`))
  }
  if (done > 0) print(`next: run ${join(place, 'restore.sh')} on the server`)
  if (hidden > 0)
    print(`${hidden} private: restore-repo would make them public; restore.sh says what it needs`)
  if (failed > 0)
    throw new UserError(`${failed} of ${failed + done} repositories could not be restored`)
  if (strict && skipped > 0)
    throw new UserError(`some data could not be restored (--strict); the dumps are in ${place}`)
}

async function peopleIn(file: string | undefined): Promise<PeopleMap> {
  if (file === undefined) return new Map()
  const { people, warnings } = readPeople(await readFile(file, 'utf8'), accountRefusal)
  for (const warning of warnings) print(escapeForTerminal(`warning: ${file}, ${warning}`))
  return people
}

function baseUrl(target: string | undefined): string {
  if (target === undefined) return ''
  if (!/^https?:$/.test(URL.parse(target)?.protocol ?? ''))
    throw new UsageError(`--target must be an http or https URL, not ${JSON.stringify(target)}`)
  return target.replace(/\/*$/, '/')
}

function newsInWords(news: DumpEvents): string[] {
  if ('warning' in news) return [`warning: ${news.warning}`]
  if ('attachments' in news)
    return [
      `beside the dump: ${countInWords('attachments', news.attachments)} in ${news.directory}, listed in attachments.csv`,
    ]
  return news.leftBehind.map(([kind, count]) => `skipped: ${countInWords(kind, count)}`)
}
