import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDump } from '../gitea-dump-reader.ts'
import { type ForgeData, fullNameOf, type Issue, type Pull, type Repository } from './forge-data.ts'

// biome-ignore lint/suspicious/noExplicitAny: `readDump` checks the values.
type Dumped = Record<string, any>

const seconds = (time: string | null) => (time ? Math.floor(Date.parse(time) / 1000) : null)

/** The API's names for the review states of a dump. */
const REVIEW_STATES: Readonly<Record<string, string>> = {
  APPROVED: 'APPROVED',
  CHANGES_REQUESTED: 'REQUEST_CHANGES',
  COMMENTED: 'COMMENT',
}

/**
 * Restores a dump as `restore-repo` of Gitea does: the repository is public, everything belongs to the administrator with the
 * original author as text, and assignees, attachments and settings other than description and default branch are not read.
 * Returns the reason of a failure.
 */
export function restoreDump(
  world: ForgeData,
  { directory, owner: login, name }: { directory: string; owner: string; name: string },
): string | undefined {
  const owner = world.users.get(login.toLowerCase())
  if (!owner) return `user does not exist [uid: 0, name: ${login}, keyid: 0]`
  if (world.findRepository(login, name)) return `repository already exists [name: ${name}]`
  const dump = readDump(directory)
  const repository = world.addRepository(owner, name)
  repository.description = dump.repository.description ?? ''
  repository.topics = dump.topics
  repository.defaultBranch = dump.repository.default_branch ?? 'main'
  const fullName = fullNameOf(repository)
  world.git!.clone(join(directory, 'git'), fullName)
  world.git!.setHead(fullName, repository.defaultBranch)
  if (existsSync(join(directory, 'wiki')))
    world.git!.clone(join(directory, 'wiki'), `${fullName}.wiki`)
  world.readBranches(repository)
  repository.labels = dump.labels.map(({ name: label, color, description, exclusive }) => ({
    ...{ id: world.id(), name: label, color, description, exclusive },
  }))
  repository.milestones = dump.milestones.map((each) => ({
    ...{ id: world.id(), title: each.title, description: each.description },
    ...{
      closed: seconds(each.closed),
      due: seconds(each.deadline),
      created: seconds(each.created)!,
    },
  }))
  for (const each of dump.issues) restoreIssue(world, repository, each)
  for (const each of dump.pulls)
    restorePull(world, repository, each, dump.reviews.get(each.number) ?? [])
  for (const [number, comments] of dump.comments)
    for (const each of comments) restoreComment(world, repository.issues.get(number)!, each)
  for (const issue of repository.issues.values()) issue.updated = updatedOf(dump, issue.number)
  for (const each of dump.releases) restoreRelease(world, repository, each, directory)
  repository.nextNumber = Math.max(0, ...repository.issues.keys()) + 1
  return undefined
}

/** Writes a program that `restore.sh` can run in place of Gitea: it asks the fake forge, as `gitea restore-repo` asks its server. */
export function writeRestoreProgram(
  file: string,
  { url, version, token }: { url: string; version: string; token: string },
): void {
  const program = `#!/bin/sh
[ "$1" = --version ] && exec echo 'Gitea version ${version}'
exec curl -fsS -H 'authorization: token ${token}' --data-urlencode "directory=$3" \\
  --data-urlencode "owner=$5" --data-urlencode "name=$7" '${url}/api/internal/restore_repo'
`
  writeFileSync(file, program)
  chmodSync(file, 0o700)
}

const administrator = ({ users }: ForgeData) =>
  [...users.values()].find(({ isAdmin }) => isAdmin) ?? null

const updatedOf = ({ issues, pulls }: ReturnType<typeof readDump>, number: number) =>
  seconds([...issues, ...pulls].find((each) => each.number === number)?.updated) ?? 0

/** Gitea shows somebody who reacted elsewhere as `NAME(git)`, without an account. */
const reactionsOf = (world: ForgeData, reactions: Dumped[]) =>
  reactions.map(({ user_name: name, content }) => {
    const login = `${name}(git)`
    const stranger = { id: -1, fullName: '', isAdmin: false, isOrganization: false, created: 0 }
    return {
      user: { ...stranger, login, visibility: 'public' as const },
      content,
      created: world.clock(),
    }
  })

function restoreIssue(world: ForgeData, repository: Repository, dumped: Dumped): Issue {
  repository.nextNumber = dumped.number
  return world.addIssue(repository, administrator(world), {
    ...{ originalAuthor: dumped.poster_name, title: dumped.title, body: dumped.content },
    labels: repository.labels.filter(({ name }) =>
      (dumped.labels as Dumped[]).some((each) => each.name === name),
    ),
    milestone: repository.milestones.find(({ title }) => title === dumped.milestone) ?? null,
    ...{ isLocked: dumped.is_locked, created: seconds(dumped.created)! },
    ...{ closed: seconds(dumped.closed), reactions: reactionsOf(world, dumped.reactions) },
  })
}

function restorePull(
  world: ForgeData,
  repository: Repository,
  dumped: Dumped,
  reviews: Dumped[],
): void {
  const issue = restoreIssue(world, repository, dumped)
  const { head, base, merged, merge_commit_sha: commit } = dumped
  const git = world.git!
  const name = fullNameOf(repository)
  const pull: Pull = {
    ...{ id: world.id(), base: base.ref, mergeBase: base.sha, reviews: [] },
    head: { branch: head.ref, sha: head.sha, repository: name },
    merged: merged ? { at: seconds(dumped.merged_time)!, by: administrator(world)!, commit } : null,
  }
  issue.pull = pull
  if (head.sha && git.resolve(name, head.sha))
    git.setRef(name, `refs/pull/${issue.number}/head`, head.sha)
  for (const each of reviews) {
    const state = REVIEW_STATES[each.state] ?? 'PENDING'
    const review = world.addReview(
      Object.assign(issue, { pull }),
      administrator(world),
      state,
      each.content,
    )
    review.commit = each.commit_id
    review.submitted = review.updated = seconds(each.created_at)!
    for (const comment of each.comments as Dumped[]) {
      const added = world.addLineComment(
        issue,
        review,
        review.user,
        comment.tree_path,
        comment.line,
      )
      Object.assign(added, { body: comment.content, created: seconds(comment.created_at) })
      added.code!.hunk = comment.diff_hunk
    }
  }
}

function restoreComment(world: ForgeData, issue: Issue, dumped: Dumped): void {
  world.addComment(issue, administrator(world), dumped.content, {
    ...{ originalAuthor: dumped.poster_name, created: seconds(dumped.created)! },
    ...{ updated: seconds(dumped.updated)!, reactions: reactionsOf(world, dumped.reactions) },
  })
}

function restoreRelease(
  world: ForgeData,
  repository: Repository,
  dumped: Dumped,
  directory: string,
): void {
  const isTagged = world.git!.resolve(fullNameOf(repository), `refs/tags/${dumped.tag_name}`)
  world.addRelease(repository, administrator(world), dumped.tag_name, {
    ...{ target: dumped.target_commitish, name: dumped.name, body: dumped.body },
    ...{ draft: dumped.draft || !isTagged, prerelease: dumped.prerelease },
    created: seconds(dumped.created)!,
    assets: (dumped.assets as Dumped[]).map(({ name, download_url: file }) =>
      world.createAsset(name, readFileSync(join(directory, file))),
    ),
  })
}
