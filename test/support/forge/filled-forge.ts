import type { FakeForge } from './fake-forge.ts'
import {
  type ForgeData,
  type Issue,
  type Pull,
  type Repository,
  sha,
  type User,
} from './forge-data.ts'
import { LONG_AGO } from './many-issues.ts'

export interface FilledForge {
  ann: User
  bob: User
  cid: User
  /** Owned by ann, and by the organizations octo and tern, which ann owns and bob is a member of. */
  site: Repository
  tools: Repository
  data: Repository
}

export const PICTURE = Buffer.from('89504e470d0a1a0a', 'hex')
const NOTES = 'notes of the meeting\n'
export const BINARY = Buffer.alloc(300_000, 'godwit ')

/** As long as the tokens of a real forge. */
export const tokenOf = (login: string): string => `token-of-${login}`.padEnd(40, '0')

/**
 * 3 accounts, 2 organizations, 40 issues, 12 pull requests (merged, closed, open, of a fork that is gone; with reviews of every
 * state and comments on lines), 3 releases with assets, attachments, a milestone, labels, a protected branch, a comment by an
 * account that is gone.
 */
export function fillForge(forge: FakeForge): FilledForge {
  const { world, url } = forge
  let now = LONG_AGO
  world.clock = () => ++now
  const [ann, bob, cid] = ['ann', 'bob', 'cid'].map((login) => world.addUser(login)) as [
    User,
    User,
    User,
  ]
  for (const user of [ann, bob, cid]) forge.tokens.set(tokenOf(user.login), user)
  const octo = world.addUser('octo', { isOrganization: true, fullName: 'Octo Works' })
  const tern = world.addUser('tern', { isOrganization: true })
  for (const each of [octo, tern]) world.addTeam(each, 'Owners', 'owner', [ann])
  world.addTeam(octo, 'Core people', 'write', [ann, bob])
  const site = world.addRepository(ann, 'site')
  const tools = world.addRepository(octo, 'tools')
  const data = world.addRepository(tern, 'data')
  site.collaborators.set(bob, 'write')
  for (const repository of [site, tools]) addIssues(world, repository, 20, { ann, bob, cid, url })
  addPulls(world, tools, { ann, bob, cid })
  for (const tag of ['v1.0', 'v1.1', 'v2.0'])
    world.addRelease(tools, ann, tag, {
      prerelease: tag === 'v2.0',
      assets: [
        world.createAsset(`tools-${tag}.bin`, BINARY),
        world.createAsset('SUMS', `${tag} sums\n`),
      ],
    })
  tools.protections.push({
    rule_name: 'main',
    branch_name: 'main',
    enable_push: true,
    enable_push_whitelist: true,
    push_whitelist_usernames: ['ann'],
    push_whitelist_teams: ['Core people'],
    required_approvals: 1,
  })
  // From here on the clock runs.
  world.clock = () => Math.floor(Date.now() / 1000)
  return { ann, bob, cid, site, tools, data }
}

function addIssues(
  world: ForgeData,
  repository: Repository,
  count: number,
  { ann, bob, cid, url }: { ann: User; bob: User; cid: User; url: string },
): void {
  const label = { id: world.id(), name: 'good first issue', color: '7057ff', description: '' }
  const milestone = {
    id: world.id(),
    title: 'Spring',
    description: 'all of it',
    closed: null,
    due: null,
    created: world.clock(),
  }
  repository.labels.push(label)
  repository.milestones.push(milestone)
  for (let n = 1; n <= count; n++) {
    const issue = world.addIssue(repository, [ann, bob, cid][n % 3] ?? ann)
    if (n % 2 === 0) issue.labels.push(label)
    if (n % 5 === 0) Object.assign(issue, { milestone, assignees: [bob] })
    if (n % 4 === 0) world.addComment(issue, cid, `comment on ${n}`)
    if (n % 6 === 0) world.close(issue, ann)
    if (n === 3) issue.reactions.push({ user: bob, content: 'hooray', created: world.clock() })
  }
  attach(world, repository.issues.get(1)!, url)
  world.addComment(repository.issues.get(2)!, null, 'by somebody who is gone')
  repository.issues.get(4)!.isLocked = true
}

function attach(world: ForgeData, issue: Issue, url: string): void {
  const [picture, notes] = [
    world.createAsset('a picture.png', PICTURE),
    world.createAsset('notes.txt', NOTES),
  ]
  issue.assets.push(picture)
  issue.body = `see ![a picture](/attachments/${picture.uuid}) and https://elsewhere.example/attachments/${picture.uuid}`
  const comment = world.addComment(issue, issue.user, `[notes](${url}/attachments/${notes.uuid})`)
  comment.assets.push(notes)
}

function addPulls(
  world: ForgeData,
  repository: Repository,
  { ann, bob, cid }: { ann: User; bob: User; cid: User },
): void {
  const states = ['APPROVED', 'REQUEST_CHANGES', 'COMMENT', 'APPROVED'] as const
  for (let n = 0; n < 12; n++) {
    const gone: Partial<Pull> = { head: { branch: 'lost', sha: sha(900 + n), repository: null } }
    const pull = world.addPull(repository, [bob, cid][n % 2] ?? bob, n % 4 === 3 ? gone : {})
    const state = states[n % 4] ?? 'COMMENT'
    const review = world.addReview(pull, ann, state, n % 3 === 0 ? '' : `review ${n}`)
    if (n === 3) review.dismissed = true
    world.addLineComment(pull, review, ann, 'README.md', 1 + (n % 3))
    if (n % 3 === 0) world.merge(pull, ann)
    else if (n % 3 === 1) world.close(pull, bob)
  }
}
