import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandLine } from './command-line.ts'
import { type FakeForge, startForge } from './forge/fake-forge.ts'
import type { Comment, Issue, Pull, Repository } from './forge/forge-data.ts'
import { gitHost } from './git-host.ts'
import {
  DISCUSSED_FILES,
  discussedRecords,
  makeDiscussedRepositories,
  type RecordLists,
  writeUnpackedArchive,
} from './gitea-archive.ts'
import { readDump } from './gitea-dump-reader.ts'
import { temporaryDirectory } from './sample-repositories.ts'

export const LFS_TEXT = 'a large object'
export const LFS_OID = createHash('sha256').update(LFS_TEXT).digest('hex')
const LFS_PATH = `lfs/objects/${LFS_OID.slice(0, 2)}/${LFS_OID.slice(2, 4)}/${LFS_OID}`
const OLD = 'https://old.example.com'

/** The old address of an attachment, as it is in the texts of the dump. */
const oldAddress = (uuid: string) => `${OLD}/attachments/${uuid}`

const ATTACHED = {
  [UUID(1)]: { name: 'shot ü.txt', text: 'of an issue', on: { kind: 'issue', number: 1 } },
  [UUID(2)]: { name: 'same.txt', text: 'same', on: comment(11, 2) },
  [UUID(3)]: { name: 'same.txt', text: 'same', on: comment(11, 2) },
  [UUID(4)]: { name: 'unlinked.txt', text: 'not linked', on: comment(13, 2) },
  [UUID(5)]: {
    name: 'line.txt',
    text: 'on a line',
    on: { kind: 'pull_request_review_comment', pull: 3, id: 31 },
  },
  [UUID(6)]: { name: 'notes.txt', text: 'of a release', on: { kind: 'release', tag: 'v1' } },
}

function UUID(n: number): string {
  return `0000000${n}-0000-4000-8000-000000000000`
}

function comment(id: number, number: number) {
  return { kind: 'issue_comment', on: { kind: 'issue', number }, id }
}

const link = (n: number) => `![x](${OLD}/user-attachments/assets/${UUID(n)})`

/** Records that have everything that `restore-repo` does not restore. */
function unrestoredRecords(records: RecordLists): RecordLists {
  const at = '2021-03-06T12:00:00Z'
  const [site, empty, quiet] = records.repositories!
  const [first, second] = records.issues!
  const attachments = Object.entries(ATTACHED).map(([uuid, { name, on }]) => ({
    ...{ repository: 'alice/site', author: 'bob', createdAt: at, uuid, name, on },
    ...{ contentType: 'text/plain', file: `attachments/${uuid}/${name}` },
    oldUrl: oldAddress(uuid),
  }))
  const isComment = (id: number) => (each: { id: number }) => each.id === id
  const addText = <T extends { id: number; body: string | null }>(
    list: readonly T[],
    id: number,
    text: string,
  ) => list.map((each) => (isComment(id)(each) ? { ...each, body: `${each.body} ${text}` } : each))
  return {
    ...records,
    repositories: [
      {
        ...site!,
        website: 'https://birds.example.com',
        archived: true,
        template: true,
        collaborators: [
          { login: 'bob', permission: 'write' },
          { login: 'carol', permission: 'read' },
          { login: 'zoe', permission: 'admin' },
        ],
      },
      empty!,
      quiet!,
    ],
    issues: [
      {
        ...first!,
        body: `${link(1)} and \`${oldAddress(UUID(1))}\``,
        dueOn: '2031-05-06T23:59:59Z',
        pinOrder: 2,
      },
      {
        ...second!,
        // The text of one issue links to the attachment of another.
        body: `See ${link(1)}, please.`,
        title: 'Two',
        pinOrder: 1,
        dependsOn: [{ repository: 'alice/site', kind: 'issue', number: 1 }],
      },
    ],
    issue_comments: addText(records.issue_comments!, 11, `${link(2)}${link(3)}`),
    pull_request_review_comments: addText(records.pull_request_review_comments!, 31, link(5)),
    releases: records.releases!.map((each) =>
      each.tag === 'v1' ? { ...each, body: `Notes ${link(6)}` } : each,
    ),
    attachments,
    teams: [
      {
        ...{ organization: 'corp', slug: 'birders', name: 'birders', description: 'They watch' },
        ...{ privacy: 'closed', parent: null, createdAt: at },
        permissions: [{ repository: 'corp/quiet', access: 'push' }],
        units: ['repo.code', 'repo.projects'],
        members: [
          { login: 'bob', role: 'member' },
          { login: 'zoe', role: 'member' },
        ],
      },
    ],
    protected_branches: [protection('alice/site', 'main'), protection('alice/site', 'release/*')],
  } as RecordLists
}

function protection(repository: string, name: string) {
  const noReviews = { byCodeOwners: false, restrictsDismissals: false, dismissalUsers: [] }
  return {
    ...{ repository, name, creator: null, adminEnforced: false, allowsForcePushes: false },
    ...{ allowsDeletions: false, authorizedActorsOnly: true, authorizedUsers: ['bob', 'zoe'] },
    ...{ authorizedTeams: [], requiresSignatures: false, requiresLinearHistory: false },
    reviews: {
      ...{ enforcement: 'non_admins', required: true, approvals: 2, dismissStaleOnPush: true },
      ...{ ...noReviews, dismissalTeams: [] },
    },
    statusChecks: { enforcement: 'off', required: false, strict: false, contexts: [] },
  }
}

/** Converts an archive to dumps. Of its people, alice becomes anna and bob stays bob; zoe is not mapped. */
export async function finishScene(
  t: Pick<TestContext, 'after'>,
  { url, tokenFile }: { url: string; tokenFile: string },
) {
  const line = await commandLine(t)
  const { folder, godwit } = line
  const host = await gitHost()
  t.after(() => host.remove())
  const records = unrestoredRecords(discussedRecords(await makeDiscussedRepositories(host)))
  const files: Record<string, string> = { ...DISCUSSED_FILES }
  for (const [uuid, { name, text }] of Object.entries(ATTACHED))
    files[`attachments/${uuid}/${name}`] = text
  files[`repositories/alice/site.git/${LFS_PATH}`] = LFS_TEXT
  const archive = await writeUnpackedArchive(join(folder, 'archive'), host, records, files)
  const [people, dumps] = [join(folder, 'people.csv'), join(folder, 'dumps')]
  await writeFile(people, 'old-login,new-login\nalice,anna\nbob,bob\ncarol,nobody\n')
  const options = ['--to', 'gitea-dump', '--people', people]
  const made = await godwit(['convert', archive, '--output', dumps, ...options])
  if (made.code !== 0) throw new Error(made.output)
  const args = ['finish', dumps, '--forge', url, '--token-file', tokenFile]
  return { ...line, dumps, args, finish: (...more: string[]) => godwit([...args, ...more]) }
}

export const TOKEN = 'canary-6f1d'

/** Starts a forge on which the dumps have been restored. */
export async function startFinishScene(t: Pick<TestContext, 'after'>, options = {}) {
  const directory = temporaryDirectory(t)
  const forge = await startForge({ directory, ...options })
  t.after(() => forge.stop())
  forge.tokens.set(TOKEN, forge.world.users.get('root')!)
  const tokenFile = join(directory, 'token')
  await writeFile(tokenFile, TOKEN)
  const scene = await finishScene(t, { url: forge.url, tokenFile })
  restoreInto(forge, scene.dumps)
  return { ...scene, forge }
}

const secondsOf = (time: string) => Math.floor(Date.parse(time) / 1000)

/** Creates what `restore-repo` creates from the dumps: texts, comments, reviews and releases, all of the administrator. */
function restoreInto({ world }: FakeForge, dumps: string): void {
  const admin = world.users.get('root')!
  for (const login of ['anna', 'bob']) world.addUser(login)
  const corp = world.addUser('corp', { isOrganization: true })
  world.addTeam(corp, 'Owners', 'owner', [admin])
  for (const [folder, owner] of [
    ['alice/site', 'anna'],
    ['corp/empty', 'corp'],
    ['corp/quiet', 'corp'],
  ] as const) {
    const dump = readDump(join(dumps, folder))
    const repository = world.addRepository(world.users.get(owner)!, dump.repository.name!)
    repository.topics = dump.topics
    const all = [...dump.issues, ...dump.pulls].sort((a, b) => a.number - b.number)
    for (const { number, title, content, is_locked, created, updated } of all) {
      repository.nextNumber = number
      const isPull = dump.pulls.some((pull) => pull.number === number)
      const issue = isPull ? world.addPull(repository, admin) : world.addIssue(repository, admin)
      for (const comment of dump.comments.get(number) ?? []) {
        const at = { created: secondsOf(comment.created), updated: secondsOf(comment.created) }
        world.addComment(issue, admin, comment.content, at)
      }
      for (const review of dump.reviews.get(number) ?? []) {
        const added = world.addReview(
          issue as Issue & { pull: Pull },
          admin,
          'COMMENT',
          review.content,
        )
        for (const { tree_path, line, content } of review.comments)
          world.addLineComment(issue, added, admin, tree_path, Math.abs(line)).body = content
      }
      const times = { created: secondsOf(created), updated: secondsOf(updated) }
      Object.assign(issue, { title, body: content, isLocked: is_locked, ...times })
    }
    for (const { tag_name, name, body, draft } of dump.releases)
      world.addRelease(repository, admin, tag_name, { name, body, draft })
  }
}

/** Returns everything that `finish` changes on a forge. Addresses of attachments have their names instead of UUIDs. */
export function finishedState({ world, url }: FakeForge) {
  const text = (body: string) =>
    body.replaceAll(new RegExp(`${url}/attachments/([0-9a-f-]{36})`, 'g'), (_, uuid: string) => {
      return `new:${world.findAsset(uuid)?.name}`
    })
  const files = ({ assets }: Pick<Issue, 'assets'>) =>
    assets.map(({ name, bytes }) => `${name}: ${Buffer.from(bytes)}`)
  const comment = (each: Comment) => ({
    type: each.type,
    body: text(each.body),
    files: files(each),
  })
  const issue = (each: Issue) => ({
    ...{ number: each.number, body: text(each.body), files: files(each), isLocked: each.isLocked },
    assignees: each.assignees.map(({ login }) => login),
    due: each.due && new Date(each.due * 1000).toISOString().slice(0, 10),
    pinOrder: each.pinOrder,
    dependencies: each.dependencies.map(({ number }) => number),
    comments: each.comments.map(comment),
  })
  const repository = (each: Repository) => ({
    ...{ name: `${each.owner.login}/${each.name}`, isPrivate: each.isPrivate },
    ...{ isArchived: each.isArchived, isTemplate: each.isTemplate, website: each.website },
    ...{ topics: each.topics, lfs: [...each.lfs] },
    collaborators: Array.from(each.collaborators, ([{ login }, permission]) => [login, permission]),
    protections: each.protections.map(({ rule_name, required_approvals, ...rule }) => [
      ...[rule_name, required_approvals, rule.push_whitelist_usernames],
    ]),
    issues: Array.from(each.issues.values(), issue),
    releases: each.releases.map((release) => ({
      ...{ tag: release.tag, body: text(release.body), files: files(release) },
    })),
  })
  return {
    repositories: Array.from(world.repositories.values(), repository),
    teams: (world.teams.get('corp') ?? []).map((team) => ({
      ...{ name: team.name, permission: team.permission, units: team.units },
      members: Array.from(team.members, ({ login }) => login),
      repositories: Array.from(team.repositories ?? [], ({ name }) => name),
    })),
  }
}
