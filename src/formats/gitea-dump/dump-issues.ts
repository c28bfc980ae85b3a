import { join } from 'node:path'
import type { Issue, IssueComment } from '../../records/issue.ts'
import {
  type DumpContext,
  dumpReactions,
  dumpTitle,
  dumpTriage,
  isLocked,
  poster,
} from './dump-context.ts'
import { YamlList, yamlTime, yamlTimeOrNull } from './yaml-json.ts'

/** Writes issue.yml. The fields are those of the server's schema: with `--validation` it refuses any other. */
export function dumpIssues(context: DumpContext, signal: AbortSignal): void {
  const { rows, report, fullName, directory } = context
  const list = new YamlList(join(directory, 'issue.yml'))
  let last = 0
  for (const [number, issue] of rows.all<Issue>('issues')) {
    signal.throwIfAborted()
    // The server fails at a duplicate number.
    if (number === last || rows.has('pulls', number)) {
      report.lostRecord('issues', `${fullName}: #${number} occurs twice`)
      continue
    }
    last = number
    list.add({
      number,
      ...poster(context, issue.author),
      title: dumpTitle(context, number, issue.title),
      content: context.text(issue.body),
      ref: '',
      state: issue.closedAt === null ? 'open' : 'closed',
      is_locked: isLocked(context, number),
      created: yamlTime(issue.createdAt),
      updated: yamlTime(issue.updatedAt),
      closed: yamlTimeOrNull(issue.closedAt),
      ...dumpTriage(context, issue),
      reactions: dumpReactions(context, issue.reactions),
    })
  }
  list.close()
}

/** Writes comments/N.yml for issues and pull requests. */
export function dumpComments(context: DumpContext, signal: AbortSignal): void {
  const { rows, report, fullName, directory } = context
  let current = 0
  let list: YamlList | undefined
  for (const [number, comment] of rows.all<IssueComment>('comments')) {
    signal.throwIfAborted()
    if (number !== current) {
      list?.close()
      current = number
      const exists = rows.has('issues', number) || rows.has('pulls', number)
      list = exists ? new YamlList(join(directory, 'comments', `${number}.yml`)) : undefined
    }
    if (list) list.add(dumpComment(context, number, comment))
    // The server would fail at a comment on an unknown issue.
    else
      report.lostRecord(
        'issue_comments',
        `${fullName}: comment ${comment.id} is on #${number}, which is not in the archive`,
      )
  }
  list?.close()
}

function dumpComment(context: DumpContext, number: number, comment: IssueComment) {
  return {
    issue_index: number,
    index: comment.id,
    comment_type: 'comment',
    ...poster(context, comment.author),
    created: yamlTime(comment.createdAt),
    updated: yamlTime(comment.createdAt),
    content: context.text(comment.body),
    reactions: dumpReactions(context, comment.reactions),
  }
}
