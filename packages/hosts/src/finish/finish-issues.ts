import type {
  AttachmentRecord,
  IssueRecord,
} from '@godwit/archive/formats/gitea-dump/finish-records'
import type { Json } from '../http/json-fields.ts'
import * as json from '../http/json-fields.ts'
import { type Found, finishAttachments, scan } from './finish-attachments.ts'
import type { RepositoryContext } from './finish-run.ts'

/** Uploads attachments, changes the links to them, and sets the properties of issues and pull requests. */
export async function finishIssues(
  context: RepositoryContext,
  attachments: readonly AttachmentRecord[],
  issues: readonly IssueRecord[],
): Promise<void> {
  if (attachments.length + issues.length === 0) return
  const found = await scan(context, attachments, issues)
  await finishAttachments(context, attachments, found)
  const assignable = await listAssignable(context, issues)
  for (const issue of issues) await finishIssue(context, issue, found, assignable)
  await pinIssues(context, issues, found)
}

async function listAssignable({ run, path }: RepositoryContext, issues: readonly IssueRecord[]) {
  const isNeeded = issues.some(({ assignees }) => assignees.length > 0)
  const people = isNeeded ? await run.server.list(`${path}/assignees`) : []
  return new Set(people.map((each) => json.loginOf(each).toLowerCase()))
}

async function finishIssue(
  context: RepositoryContext,
  issue: IssueRecord,
  found: Found,
  assignable: ReadonlySet<string>,
): Promise<void> {
  const { run, path, fullName } = context
  const { number, dueOn } = issue
  const there = found.issues.get(number)
  if (!there) return void run.failed.push(`${fullName}: #${number} is not on the server`)
  const fields: Json = {}
  const texts: string[] = []
  const assigned = json.objects(there, 'assignees').map(json.loginOf)
  const added = await newAssignees(context, issue.assignees, { assigned, assignable })
  if (added.length > 0) {
    fields.assignees = [...assigned, ...added]
    texts.push(`assign #${number} to ${added.join(', ')}`)
  }
  if (dueOn && dayOf(json.string(there, 'due_date')) !== dayOf(dueOn)) {
    fields.due_date = dueOn
    texts.push(`set the deadline of #${number} to ${dayOf(dueOn)}`)
  }
  if (texts.length > 0) {
    if (run.server.hasField('EditIssueOption', 'updated_at'))
      fields.updated_at = json.string(there, 'updated_at')
    const change = () => run.server.write('PATCH', `${path}/issues/${number}`, fields)
    await run.step('assignees and deadlines', `${fullName}: ${texts.join(', ')}`, change)
  }
  if (issue.locked && !json.boolean(there, 'is_locked')) {
    const lock = () => run.server.write('PUT', `${path}/issues/${number}/lock`, {})
    if (run.server.can('locks')) await run.step('locks', `${fullName}: lock #${number}`, lock)
    else run.leaveOutUnsupported('lock issues')
  }
  if (issue.dependsOn.length > 0) await addDependencies(context, issue)
}

/** Returns the day in the time zone of the text: a server stores only the day of a deadline, and returns it in its own time zone. */
const dayOf = (time: string): string => time.slice(0, 10)

/** Returns the accounts to add. Those that may not be assigned are left out, because the server would refuse the whole change. */
async function newAssignees(
  { run, fullName, accountsOf }: RepositoryContext,
  wanted: readonly string[],
  { assigned, assignable }: { assigned: readonly string[]; assignable: ReadonlySet<string> },
): Promise<string[]> {
  const there = new Set(assigned.map((login) => login.toLowerCase()))
  return (await accountsOf(wanted)).filter((login) => {
    if (there.has(login.toLowerCase())) return false
    // In a dry run nobody got access yet.
    if (run.isDryRun || assignable.has(login.toLowerCase())) return true
    run.leaveOut(`${login} cannot be assigned in ${fullName}: the account may not write there`)
    return false
  })
}

async function addDependencies(
  { run, owner, path, fullName, settings }: RepositoryContext,
  { number, dependsOn }: IssueRecord,
): Promise<void> {
  if (!run.server.can('dependencies'))
    return run.leaveOutUnsupported('set dependencies between issues', dependsOn.length)
  const list = `${path}/issues/${number}/dependencies`
  const readExisting = async () =>
    new Set(
      (await run.server.list(list)).map((each) => {
        const name = json.string(json.object(each, 'repository') ?? {}, 'full_name') || fullName
        return `${name}#${json.integer(each, 'number')}`.toLowerCase()
      }),
    )
  const existing = await readExisting()
  for (const { repository, number: on } of dependsOn) {
    if (repository === null) {
      run.leaveOut('dependencies on issues of repositories that are not in the dump')
      continue
    }
    const [ownerInDump = '', repo = ''] = repository.split('/')
    // With --owner, all repositories of the dump were restored under another owner.
    const newOwner = owner === settings.owner ? ownerInDump : owner
    const key = `${newOwner}/${repo}#${on}`
    if (existing.has(key.toLowerCase())) continue
    const add = async () => {
      if ((await readExisting()).has(key.toLowerCase())) return
      await run.server.write('POST', list, { owner: newOwner, repo, index: on })
    }
    await run.step('dependencies', `${fullName}: let #${number} depend on ${key}`, add)
  }
}

/** Pins issues in their old order, because a server puts the newest pin last. */
async function pinIssues(
  { run, path, fullName }: RepositoryContext,
  issues: readonly IssueRecord[],
  found: Found,
): Promise<void> {
  const isPinned = (number: number) =>
    json.integer(found.issues.get(number) ?? {}, 'pin_order') !== 0
  const pinned = issues.filter(({ pinOrder, number }) => pinOrder && !isPinned(number))
  if (!run.server.can('pins')) return run.leaveOutUnsupported('pin issues', pinned.length)
  for (const { number } of pinned.sort((a, b) => a.pinOrder! - b.pinOrder!)) {
    const issue = `${path}/issues/${number}`
    const pin = async () => {
      const there = await run.server.find(issue)
      if (json.integer(there ?? {}, 'pin_order') === 0)
        await run.server.write('POST', `${issue}/pin`)
    }
    await run.step('pins', `${fullName}: pin #${number}`, pin)
  }
}
