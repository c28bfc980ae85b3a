import type { Git, GitCall } from '../../../git/git.ts'
import { Unreadable } from '../../unreadable.ts'

const LONGEST_RECORD = 1024 * 1024

/** What git writes, record by record as it comes, so that a million refs take no more memory than one. */
export async function* gitRecords(
  git: Git,
  args: readonly string[],
  separator: '\n' | '\0',
  call: GitCall,
): AsyncGenerator<string, void, void> {
  const running = git.start(args, call)
  running.stdin.end()
  let rest = ''
  // Latin-1 keeps bytes apart from characters until a record is whole.
  for await (const chunk of running.stdout.setEncoding('latin1') as AsyncIterable<string>) {
    const records = (rest + chunk).split(separator)
    rest = records.pop()!
    for (const record of records) yield Buffer.from(record, 'latin1').toString()
    if (rest.length > LONGEST_RECORD) throw new Unreadable('git lists a name of endless length')
  }
  await running.done
}
