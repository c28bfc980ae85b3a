import { join } from 'node:path'
import type { Issue, IssueComment } from '../../../records/issue.ts'
import {
  type DumpContext,
  dumpReactions,
  dumpTitle,
  dumpTriage,
  isLocked,
  poster,
} from './dump-context.ts'
import { type YamlList, yamlList, yamlTime } from './yaml-json.ts'

/** issue.yml. The fields are those of the server's own schema: with `--validation` it refuses any other. */
export function dumpIssues(context: DumpContext, signal: AbortSignal): void {
  const { rows, shelf, tally, fullName } = context
  const list = yamlList(join(context.place, 'issue.yml'))
  let last = 0
  for (const [number, issue] of rows.all<Issue>(shelf('issues'))) {
    signal.throwIfAborted()
    // The server fails at a number that it has already.
    if (number === last || rows.has(shelf('pulls'), number)) {
      tally.lose('issues', `${fullName}: #${number} is there twice`)
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
      closed: issue.closedAt === null ? null : yamlTime(issue.closedAt),
      ...dumpTriage(context, issue),
      reactions: dumpReactions(context, issue.reactions),
    })
  }
  list.close()
}

/** comments/N.yml, for issues and pull requests alike. */
export function dumpComments(context: DumpContext, signal: AbortSignal): void {
  const { rows, shelf, tally } = context
  let current = 0
  let list: YamlList | undefined
  for (const [number, comment] of rows.all<IssueComment>(shelf('comments'))) {
    signal.throwIfAborted()
    if (number !== current) {
      list?.close()
      current = number
      const isThere = rows.has(shelf('issues'), number) || rows.has(shelf('pulls'), number)
      list = isThere ? yamlList(join(context.place, 'comments', `${number}.yml`)) : undefined
    }
    if (list) list.add(dumpComment(context, number, comment))
    // The server would fail at a comment on nothing.
    else tally.lose('issue_comments', `${context.fullName}: comment ${comment.id} is on #${number}`)
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
