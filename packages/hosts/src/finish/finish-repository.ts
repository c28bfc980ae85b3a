import { validateHeaderName, validateHeaderValue } from 'node:http'
import { join } from 'node:path'
import type { FinishRecord, LfsRecord } from '@godwit/archive/formats/gitea-dump/finish-records'
import { batchesOf } from '@godwit/lib/chunks'
import { formatBytes, formatCount } from '@godwit/lib/quantities'
import { HostRequestFailed } from '../host-errors.ts'
import { segment } from '../host-url.ts'
import type { Json } from '../http/json-fields.ts'
import * as json from '../http/json-fields.ts'
import { finishIssues } from './finish-issues.ts'
import type { FinishRun, RepositoryContext } from './finish-run.ts'

export interface FinishRepositoryOptions {
  run: FinishRun
  /** The directory of its dump. */
  directory: string
  records: readonly FinishRecord[]
  /** The owner that all repositories were restored under, if it is not the one in the dump. */
  owner: string | undefined
  /** The new logins by the old ones in lower case. If undefined, those of the conversion, which are in the dump, are used. */
  people: ReadonlyMap<string, string> | undefined
}

type RecordOfKind<K extends FinishRecord['kind']> = Extract<FinishRecord, { kind: K }>

const ofKind = <K extends FinishRecord['kind']>(records: readonly FinishRecord[], kind: K) =>
  records.filter((record): record is RecordOfKind<K> => record.kind === kind)

/**
 * Brings everything that `restore-repo` does not restore to one repository. A private repository becomes private first, and a public one
 * public last. It is archived at the end, because an archived repository refuses everything else.
 */
export async function finishRepository(options: FinishRepositoryOptions): Promise<void> {
  const { run, directory, records, owner: otherOwner, people } = options
  const [settings] = ofKind(records, 'settings')
  if (!settings) return void run.failed.push(`${directory}: the list has no settings`)
  const owner = otherOwner ?? settings.owner
  const fullName = `${owner}/${settings.name}`
  const path = `/repos/${segment(owner)}/${segment(settings.name)}`
  const repository = await run.server.find(path)
  if (!repository)
    return void run.failed.push(`${fullName} is not on ${run.server.url}: run restore.sh first`)
  const newLogins = people ?? new Map(Object.entries(settings.people))
  const accountsOf = (logins: readonly string[]) => findAccounts(run, newLogins, logins)
  const context = { run, directory, settings, owner, fullName, path, repository, accountsOf }
  const change = (text: string, fields: Json) => changeRepository(context, text, fields)
  // Nothing private may be uploaded to a public repository.
  const mustBecomePrivate = settings.private && !json.boolean(repository, 'private')
  if (mustBecomePrivate && !(await change('make it private', { private: true }))) return
  const isArchived = json.boolean(repository, 'archived')
  if (isArchived && !settings.archived)
    return void run.failed.push(`${fullName} is archived on the server: unarchive it first`)
  const unarchive = () => run.server.write('PATCH', path, { archived: false })
  run.prepare = isArchived ? unarchive : undefined
  await uploadLfs(context, ofKind(records, 'lfs'))
  const teams = await finishTeams(context, ofKind(records, 'team'))
  await finishCollaborators(context)
  await finishIssues(context, ofKind(records, 'attachment'), ofKind(records, 'issue'))
  await finishSettings(context, change)
  await protectBranches(context, ofKind(records, 'protection'), teams)
  if (!settings.private && json.boolean(repository, 'private'))
    await change('make it public', { private: false })
  // If `prepare` was never called, the repository is still archived.
  const isStillArchived = isArchived && run.prepare !== undefined
  if (settings.archived && !isStillArchived) await change('archive it', { archived: true })
}

/** Leaves out people who are not in the people file: no account gets access only because its name is the same. */
async function findAccounts(
  run: FinishRun,
  newLogins: ReadonlyMap<string, string>,
  logins: readonly string[],
): Promise<string[]> {
  const accounts = new Set<string>()
  for (const login of logins) {
    const account = newLogins.get(login.toLowerCase())
    if (account === undefined) run.leaveOut(`${login} is not in the people file`)
    else if (await run.server.hasUser(account)) accounts.add(account)
    else run.leaveOut(`${login} has no account ${account} on the server`)
  }
  return [...accounts]
}

/** Changes the repository and compares what the server then returns, because a server ignores some values, such as a missing branch. */
async function changeRepository(
  { run, fullName, path }: RepositoryContext,
  text: string,
  fields: Json,
): Promise<boolean> {
  const act = async () => {
    const changed = await run.server.write('PATCH', path, fields)
    for (const [name, value] of Object.entries(fields))
      if (name in changed && changed[name] !== value)
        throw new HostRequestFailed(200, `the server did not change ${name}`)
  }
  return await run.step('settings', `${fullName}: ${text}`, act)
}

async function finishSettings(
  { run, settings, repository, path, fullName }: RepositoryContext,
  change: (text: string, fields: Json) => Promise<unknown>,
): Promise<void> {
  const { website, template, defaultBranch, topics } = settings
  if (website !== json.string(repository, 'website')) await change('set its website', { website })
  if (template !== json.boolean(repository, 'template'))
    await change(template ? 'make it a template' : 'make it no template', { template })
  const there = json.strings((await run.server.find(`${path}/topics`)) ?? {}, 'topics')
  // Servers store topics in lower case.
  const missing = topics.map((topic) => topic.toLowerCase()).filter((each) => !there.includes(each))
  const add = () => run.server.write('PUT', `${path}/topics`, { topics: [...there, ...missing] })
  if (missing.length > 0)
    await run.step('settings', `${fullName}: add ${formatCount(missing.length, 'topic')}`, add)
  if (defaultBranch !== null && defaultBranch !== json.string(repository, 'default_branch'))
    await change(`set its default branch to ${defaultBranch}`, { default_branch: defaultBranch })
}

/** Returns the server's name of one of GitHub's or the server's own permissions. Any other becomes the weakest. */
function permissionOf(access: string): string {
  if (access === 'admin') return 'admin'
  return ['write', 'push', 'maintain'].includes(access) ? 'write' : 'read'
}

async function finishCollaborators(context: RepositoryContext): Promise<void> {
  const { run, settings, owner, path, fullName, accountsOf } = context
  if (settings.collaborators.length === 0) return
  const there = (await run.server.list(`${path}/collaborators`)).map(json.loginOf)
  const known = new Set([owner, ...there].map((login) => login.toLowerCase()))
  for (const { login, permission: access } of settings.collaborators)
    for (const account of await accountsOf([login])) {
      if (known.has(account.toLowerCase())) continue
      known.add(account.toLowerCase())
      const permission = permissionOf(access)
      const target = `${path}/collaborators/${segment(account)}`
      const add = () => run.server.write('PUT', target, { permission })
      const text = `${fullName}: give ${account} the permission ${permission}`
      await run.step('collaborators', text, add)
    }
}

/** The parts of a repository that a team may use. Every version accepts this form. */
const UNITS = ['repo.code', 'repo.issues', 'repo.pulls', 'repo.releases', 'repo.wiki']
const PERMISSIONS = ['read', 'write', 'admin', 'owner']

/**
 * Creates missing teams, adds their members and gives them the repository. Nobody becomes an owner of an organization. A team has one
 * permission for all its repositories: it does not get one that it would have more access to than before. Returns the names of the
 * organization's teams.
 */
async function finishTeams(
  { run, owner, path, fullName, accountsOf }: RepositoryContext,
  teams: readonly RecordOfKind<'team'>[],
): Promise<Set<string>> {
  const { server } = run
  const organization = `/orgs/${segment(owner)}`
  if (teams.length === 0 || !(await server.find(organization))) {
    run.leaveOut(`${owner} is not an organization, so it has no teams`, teams.length)
    return new Set()
  }
  const readTeams = async () => {
    const existing = await server.list(`${organization}/teams`)
    return new Map(existing.map((team) => [json.string(team, 'name').toLowerCase(), team]))
  }
  let existing = await readTeams()
  const ownTeams = await server.list(`${path}/teams`)
  const granted = new Set(ownTeams.map((team) => json.integer(team, 'id')))
  for (const { name, description, access, members, units: used = UNITS } of teams) {
    const key = name.toLowerCase()
    if (key === 'owners') continue
    const permission = permissionOf(access)
    const create = async () => {
      existing = await readTeams()
      if (existing.has(key)) return
      const units = UNITS.filter((unit) => used.includes(unit))
      const team = { name, description: description ?? '', permission, units }
      await server.write('POST', `${organization}/teams`, team)
      existing = await readTeams()
    }
    const text = `${owner}: create the team ${name} with the permission ${permission}`
    if (!existing.has(key) && !(await run.step('teams', text, create))) continue
    const team = existing.get(key) ?? {}
    // A dry run has not created the team.
    const id = json.integer(team, 'id')
    const there = id ? await server.list(`/teams/${id}/members`) : []
    const logins = new Set(there.map((member) => json.loginOf(member).toLowerCase()))
    for (const account of await accountsOf(members.map(({ login }) => login)))
      if (!logins.has(account.toLowerCase())) {
        const add = () => server.write('PUT', `/teams/${id}/members/${segment(account)}`)
        await run.step('teams', `${owner}: add ${account} to the team ${name}`, add)
      }
    if (granted.has(id)) continue
    const has = [
      json.string(team, 'permission'),
      ...Object.values(json.object(team, 'units_map') ?? {}),
    ]
    const isStronger = (each: unknown) =>
      PERMISSIONS.indexOf(String(each)) > PERMISSIONS.indexOf(permission)
    if (has.some(isStronger))
      run.leaveOut(`${fullName}: the team ${name} has more than the permission ${permission}`)
    else {
      const grant = () => server.write('PUT', `/teams/${id}${path}`)
      await run.step('teams', `${fullName}: give access to the team ${name}`, grant)
    }
  }
  return new Set(Array.from(existing.values(), (team) => json.string(team, 'name')))
}

/** Creates the missing rules. Servers ignore the fields that their version does not have. */
async function protectBranches(
  { run, path, fullName, accountsOf }: RepositoryContext,
  rules: readonly RecordOfKind<'protection'>[],
  teams: ReadonlySet<string>,
): Promise<void> {
  if (rules.length === 0) return
  const list = `${path}/branch_protections`
  const nameOf = (rule: Json) => json.string(rule, 'rule_name') || json.string(rule, 'branch_name')
  const readNames = async () => (await run.server.list(list)).map(nameOf)
  const existing = await readNames()
  const hasPatterns = run.server.hasField('CreateBranchProtectionOption', 'rule_name')
  for (const rule of rules) {
    if (existing.includes(rule.name)) continue
    if (/[*?[\]{}]/.test(rule.name) && !hasPatterns) {
      run.leaveOutUnsupported('protect branches by a pattern')
      continue
    }
    const fields: Json = { ...(rule.forgeRule ?? githubRule(rule, teams)) }
    for (const field of Object.keys(fields))
      if (/_usernames?$/.test(field)) fields[field] = await accountsOf(json.strings(fields, field))
      else if (/_teams$/.test(field))
        fields[field] = json.strings(fields, field).filter((name) => teams.has(name))
    Object.assign(fields, { branch_name: rule.name, rule_name: rule.name })
    const create = async () => {
      if (!(await readNames()).includes(rule.name)) await run.server.write('POST', list, fields)
    }
    await run.step('branch protection', `${fullName}: protect ${rule.name}`, create)
  }
}

/** Converts a rule of GitHub to the fields of the server. */
function githubRule(rule: RecordOfKind<'protection'>, teams: ReadonlySet<string>): Json {
  const { reviews, statusChecks } = rule
  const slugs = new Set(rule.authorizedTeams.map(({ slug }) => slug))
  return {
    enable_push: true,
    enable_push_whitelist: rule.authorizedActorsOnly,
    push_whitelist_usernames: rule.authorizedUsers,
    push_whitelist_teams: [...teams].filter((name) =>
      slugs.has(name.toLowerCase().replaceAll(' ', '-')),
    ),
    enable_force_push: rule.allowsForcePushes,
    block_admin_merge_override: rule.adminEnforced,
    required_approvals: reviews.approvals,
    dismiss_stale_approvals: reviews.dismissStaleOnPush,
    enable_status_check: statusChecks.required,
    status_check_contexts: statusChecks.contexts,
    block_on_outdated_branch: statusChecks.strict,
    require_signed_commits: rule.requiresSignatures,
  }
}

const BATCH_SIZE = 100

/** Uploads the LFS objects that the server lacks, by the batch API of git-lfs. */
async function uploadLfs(context: RepositoryContext, objects: readonly LfsRecord[]) {
  const { run, fullName } = context
  for (const batch of batchesOf(objects, BATCH_SIZE)) {
    const listed = await requestBatch(context, 'download', batch).catch((error: unknown) => {
      const isDisabled = error instanceof HostRequestFailed && error.status === 404
      const why = isDisabled ? ' (Git LFS is not enabled on the server)' : ''
      run.recordFailure(`${fullName}: ${formatCount(batch.length, 'LFS object')}${why}`, error)
      return []
    })
    const lacking = new Set(listed.flatMap((each) => (each.error ? json.string(each, 'oid') : [])))
    for (const object of batch.filter(({ oid }) => lacking.has(oid))) {
      const text = `${fullName}: upload LFS object ${object.oid} (${formatBytes(object.size)})`
      await run.step('LFS objects', text, () => upload(context, object))
    }
  }
}

function areValidHeaders(headers: Record<string, string>): boolean {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    return true
  } catch {
    return false
  }
}

async function requestBatch(
  { run, fullName }: RepositoryContext,
  operation: 'download' | 'upload',
  batch: readonly LfsRecord[],
): Promise<Json[]> {
  const objects = batch.map(({ oid, size }) => ({ oid, size }))
  const request = { operation, transfers: ['basic'], objects }
  return json.objects(await run.server.lfs(fullName, 'objects/batch', request), 'objects')
}

/** Uploads one object and lets the server verify it. A server that has it for another repository needs no upload. */
async function upload(context: RepositoryContext, object: LfsRecord): Promise<void> {
  const { run, fullName, directory } = context
  const { oid, size } = object
  const [answer = {}] = await requestBatch(context, 'upload', [object])
  const refusal = json.object(answer, 'error')
  if (refusal)
    throw new HostRequestFailed(json.integer(refusal, 'code'), json.string(refusal, 'message'))
  const actions = json.object(answer, 'actions') ?? {}
  const [link, verify] = [json.object(actions, 'upload'), json.object(actions, 'verify')]
  if (!link) return
  const header = Object.entries(json.object(link, 'header') ?? {})
  const headers = Object.fromEntries(header.map(([key, value]) => [key.toLowerCase(), `${value}`]))
  if (!areValidHeaders(headers))
    throw new HostRequestFailed(0, 'the server named invalid headers for the LFS object')
  const target = { href: json.string(link, 'href'), headers }
  await run.server.uploadLfs(fullName, target, { file: join(directory, object.file), size })
  if (!verify) return
  const [, path = 'verify'] = json.string(verify, 'href').split('/info/lfs/')
  await run.server.lfs(fullName, path, { oid, size })
}
