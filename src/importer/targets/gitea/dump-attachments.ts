import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttachedTo, Attachment, RepositoryFile } from '../../../records/release.ts'
import { csvLine } from '../../csv-line.ts'
import type { DumpContext } from './dump-context.ts'
import { linkOrCopy, storedFile } from './stored-file.ts'

const TITLES = ['belongs to', 'author', 'created', 'name', 'content type', 'bytes', 'file']

/**
 * The format has no place for files of issues and comments: they are written beside it as `attachments/`, and
 * `attachments.csv` says what each belongs to. Answers how many there are.
 */
export async function dumpAttachments(context: DumpContext, signal: AbortSignal): Promise<number> {
  const { rows, shelf, place, stored, tally, fullName } = context
  const lines: string[] = []
  const all = rows.all<Attachment | RepositoryFile>(shelf('attachments'))
  for (const [, attachment] of Array.from(all)) {
    signal.throwIfAborted()
    const from = await storedFile(stored, attachment.file, signal)
    if ('lost' in from) {
      tally.lose('attachments', `${fullName}: ${from.lost}`)
      continue
    }
    const folder = join('attachments', String(lines.length + 1))
    const file = join(folder, attachment.file.split('/').at(-1)!)
    await mkdir(join(place, folder), { recursive: true })
    await linkOrCopy(from.file, join(place, file))
    const owner = 'on' in attachment ? belongsTo(attachment.on) : 'repository'
    const { author, createdAt, name, contentType } = attachment
    lines.push(csvLine([owner, author ?? 'ghost', createdAt, name, contentType, from.bytes, file]))
  }
  if (lines.length > 0)
    await writeFile(join(place, 'attachments.csv'), [csvLine(TITLES), ...lines].join(''))
  return lines.length
}

function belongsTo(on: AttachedTo): string {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return `#${on.number}`
    case 'issue_comment':
      return `comment ${on.id} of #${on.on.number}`
    case 'pull_request_review':
      return `review ${on.id} of #${on.pull}`
    case 'pull_request_review_comment':
      return `review comment ${on.id} of #${on.pull}`
    case 'commit_comment':
      return `comment ${on.id} on ${on.commit}`
    case 'release':
      return `release ${on.tag}`
    case 'repository':
      return 'repository'
  }
}
