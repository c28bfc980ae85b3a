import assert from 'node:assert/strict'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type CommandResult, commandLine } from '../support/command-line.ts'
import { ForgeSeeder } from '../support/forge/forge-seeder.ts'
import { recordsOfForge } from '../support/forge/records-of-forge.ts'
import { seedForge } from '../support/forge/seeded-scene.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import {
  addLfsObject,
  DISCUSSED_FILES,
  discussedRecords,
  makeDiscussedRepositories,
  type RecordLists,
  writeUnpackedArchive,
} from '../support/gitea-archive.ts'
import { readDump } from '../support/gitea-dump-reader.ts'
import { GITEA, type GiteaServer, giteaServer, restoreAll } from '../support/gitea-server.ts'
import { GITLAB_2019, needsGitLab, unpackTree2020 } from '../support/gitlab-exports.ts'
import { REAL_ARCHIVE } from '../support/real-archive.ts'
import { git, temporaryDirectory } from '../support/sample-repositories.ts'

// biome-ignore lint/suspicious/noExplicitAny: JSON of the API, which differs by version.
type ApiJson = Record<string, any>

/** Servers store times in seconds. */
const secondsOf = (time: string | null | undefined) =>
  time ? Math.floor(Date.parse(time) / 1000) : null
const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

/** The API's names for the review states of a dump. */
const REVIEW_STATES: Readonly<Record<string, string>> = {
  APPROVED: 'APPROVED',
  CHANGES_REQUESTED: 'REQUEST_CHANGES',
  COMMENTED: 'COMMENT',
}

describe('a real server restores the dumps', GITEA.needed, () => {
  let server: GiteaServer
  let host: GitHost
  let dumps: string
  let output: string
  let compare: (...more: string[]) => Promise<CommandResult>
  let finish: () => Promise<CommandResult>

  // The context of a suite has no `after`.
  const cleanups: (() => void)[] = []
  const t = { after: (cleanup: () => void) => void cleanups.push(cleanup) }

  before(async () => {
    const base = temporaryDirectory(t as never)
    const { godwit, folder } = await commandLine(t as never)
    host = await gitHost()
    await mkdir(join(base, 'server'))
    server = await giteaServer(join(base, 'server'))
    for (const name of ['anna', 'bob']) await server.addUser(name)
    for (const username of ['corp', 'go-gitea']) await server.api('/orgs', { username })
    const { id } = await server.api<{ id: number }>('/users/anna')
    const people = join(folder, 'people.csv')
    await writeFile(people, `old-login,new-login,account-id\nalice,anna,${id}\n`)
    const records: RecordLists = discussedRecords(await makeDiscussedRepositories(host))
    await addLfsObject(host.path('alice/site'))
    const archive = await writeUnpackedArchive(
      join(folder, 'archive'),
      host,
      records,
      DISCUSSED_FILES,
    )
    dumps = join(base, 'dumps')
    const options = ['--to', 'gitea-dump', '--people', people, '--forge', server.url]
    const made = await godwit(['convert', archive, '--output', dumps, ...options])
    assert.equal(made.code, 0, made.output)
    output = await restoreAll(dumps, server)
    const at = ['--forge', server.url, '--token-file', server.tokenFile, '--people', people]
    compare = (...more) => godwit(['compare', archive, ...at, ...more])
    finish = () => godwit(['finish', dumps, ...at])
  })
  after(async () => {
    await server?.stop()
    await host?.remove()
    for (const cleanup of cleanups) await cleanup()
  })

  test('restore.sh prints what was restored', () => {
    assert.match(
      output,
      /3 of 3 repositories restored\n {2}anna\/site\n {2}corp\/empty\n {2}corp\/quiet\n/,
    )
  })

  test('compare finds only the differences that are known', async () => {
    const comparison = await compare('--json')
    assert.equal(comparison.code, 0, comparison.output)
    const { repositories } = JSON.parse(comparison.stdout.toString())
    const { kinds } = repositories[0]
    const equal = (kind: string) => kinds[kind].equal as number
    assert.deepEqual(
      ['branches', 'tags', 'wiki', 'milestones', 'issue_comments', 'release_assets'].map(equal),
      [2, 1, 1, 2, 4, 1],
    )
  })

  test('restores number, title, state, labels, milestone and times of issues and pull requests', async () => {
    await compareIssues(server, join(dumps, 'alice/site'), 'anna/site')
  })

  test('restores comments and reactions', async () => {
    await compareComments(server, join(dumps, 'alice/site'), 'anna/site')
  })

  test('restores reviews with their state, time and inline comments', async () => {
    await compareReviews(server, join(dumps, 'alice/site'), 'anna/site')
  })

  test('exactly the mapped people are authors', async (t) => {
    if (server.version < 117) return t.skip('servers before 1.17 know no accounts by their numbers')
    const issues = await server.all<ApiJson>('/repos/anna/site/issues?state=all&type=issues')
    const authors = issues.map(({ number, user }) => [number, user?.login === 'anna'])
    assert.deepEqual(authors.sort(byText), [
      [1, false],
      [2, true],
    ])
  })

  test('merged pull requests stay merged, and commits of deleted forks are present', async () => {
    const dir = join(server.repositories, 'anna/site.git')
    for (const { number, merged, merged_time, head } of readDump(join(dumps, 'alice/site')).pulls) {
      if (head.sha === '') continue
      const pull = await server.api<ApiJson>(`/repos/anna/site/pulls/${number}`)
      assert.deepEqual([pull.merged, secondsOf(pull.merged_at)], [merged, secondsOf(merged_time)])
      assert.equal(git(dir, ['rev-parse', `refs/pull/${number}/head`]).trim(), head.sha)
    }
  })

  test('restores releases with assets, topics, labels, milestones and wiki', async () => {
    const { releases, topics, labels, milestones } = readDump(join(dumps, 'alice/site'))
    const found = await server.all<ApiJson>('/repos/anna/site/releases')
    assert.deepEqual(
      found.map(({ tag_name, name, draft }) => [tag_name, name, draft]).sort(byText),
      releases.map(({ tag_name, name, draft }) => [tag_name, name, draft]).sort(byText),
    )
    const [asset] = found.find(({ tag_name }) => tag_name === 'v1')!.assets as ApiJson[]
    assert.deepEqual([asset?.name, asset?.size], ['a b.txt', 8])
    assert.equal(await server.bytes(asset?.browser_download_url), 'an asset')
    assert.deepEqual((await server.api<ApiJson>('/repos/anna/site/topics')).topics, topics)
    const names = (items: ApiJson[], key: string) => items.map((one) => one[key]).sort()
    assert.deepEqual(
      names(await server.all('/repos/anna/site/labels'), 'name'),
      names(labels, 'name'),
    )
    const known = await server.all<ApiJson>('/repos/anna/site/milestones?state=all')
    assert.deepEqual(
      known.map(({ title, state, due_on }) => [title, state, secondsOf(due_on)]).sort(byText),
      milestones
        .map(({ title, state, deadline }) => [title, state, secondsOf(deadline)])
        .sort(byText),
    )
    const wiki = join(server.repositories, 'anna/site.wiki.git')
    assert.match(git(wiki, ['ls-tree', '--name-only', 'master']), /^Home\.md$/m)
  })

  test('private repositories stay private', async () => {
    const isPrivate = async (name: string) =>
      (await server.api<ApiJson>(`/repos/${name}`)).private as boolean
    assert.deepEqual(
      [await isPrivate('anna/site'), await isPrivate('corp/empty'), await isPrivate('corp/quiet')],
      [false, false, true],
    )
  })

  test('an export of the restored server matches, under another owner', async (t) => {
    const token = await readFile(server.tokenFile, 'utf8')
    const target = { url: server.url.replace(/\/$/, ''), token }
    const { repository, remove } = await seedForge(target)
    t.after(remove)
    const folder = temporaryDirectory(t)
    const [archive, root, into] = [join(folder, 'a'), join(folder, 'r'), join(folder, 'dumps')]
    const records = await recordsOfForge(target, repository, archive)
    const bare = `${repository.owner}/${repository.name}.git`
    await cp(join(server.repositories, bare.toLowerCase()), join(root, bare), { recursive: true })
    await writeUnpackedArchive(archive, { root }, records)
    const { godwit } = await commandLine(t)
    const made = await godwit(['convert', archive, '--to', 'gitea-dump', '--output', into])
    assert.equal(made.code, 0, made.output)
    await restoreAll(into, server, { OWNER: 'bob' })
    const dump = join(into, repository.owner, repository.name)
    await compareIssues(server, dump, `bob/${repository.name}`)
    await compareComments(server, dump, `bob/${repository.name}`)
    await compareReviews(server, dump, `bob/${repository.name}`)
    const at = ['--forge', server.url, '--token-file', server.tokenFile, '--owner', 'bob']
    const compared = await godwit(['compare', archive, ...at])
    assert.equal(compared.code, 0, compared.output)
    await server.api(`/repos/bob/${repository.name}/issues/1/comments`, { body: 'Later' })
    const later = await godwit(['compare', archive, ...at])
    assert.equal(later.code, 1)
    assert.match(later.stderr, /the two sides differ: 1 extra$/m)
  })

  test('the diff of a pull request arrives, however it was merged', async (t) => {
    const token = await readFile(server.tokenFile, 'utf8')
    const target = { url: server.url.replace(/\/$/, ''), token }
    const repository = { owner: 'corp', name: 'merges' }
    const { pulls, path } = await seedMerges(new ForgeSeeder(target), repository)
    const folder = temporaryDirectory(t)
    const [archive, root, into] = [join(folder, 'a'), join(folder, 'r'), join(folder, 'dumps')]
    const diffOf = (at: string, number: number) =>
      server.bytes(`${server.url}${at.slice('/repos/'.length)}/pulls/${number}.diff`)
    const before = new Map<string, string>()
    for (const [style, number] of pulls) before.set(style, await diffOf(path, number))
    const records = await recordsOfForge(target, repository, archive)
    await cp(join(server.repositories, 'corp/merges.git'), join(root, 'corp/merges.git'), {
      recursive: true,
    })
    await writeUnpackedArchive(archive, { root }, records)
    const { godwit } = await commandLine(t)
    const made = await godwit(['convert', archive, '--to', 'gitea-dump', '--output', into])
    assert.equal(made.code, 0, made.output)
    assert.doesNotMatch(made.output, /pull request diff/)
    await restoreAll(into, server, { OWNER: 'bob' })
    for (const [style, number] of pulls) {
      assert.match(before.get(style)!, /^diff --git/, style)
      assert.equal(await diffOf('/repos/bob/merges', number), before.get(style), style)
    }
  })

  test(
    'an archive made by github.com passes the server’s own schemas',
    REAL_ARCHIVE.needed,
    async (t) => {
      const { godwit, folder } = await commandLine(t)
      const into = join(folder, 'dumps')
      const made = await godwit([
        'convert',
        REAL_ARCHIVE.file,
        '--to',
        'gitea-dump',
        '--output',
        into,
      ])
      assert.equal(made.code, 0, made.output)
      await restoreAll(into, server)
      const [dump, name] = [join(into, 'go-gitea/test_repo'), 'go-gitea/test_repo']
      await compareIssues(server, dump, name)
      await compareComments(server, dump, name)
      await compareReviews(server, dump, name)
      const help = await server.run(['restore-repo', '--help'])
      if (!help.includes('--validation')) return
      const to = ['--owner_name', 'go-gitea', '--repo_name', 'validated']
      await server.run(['restore-repo', '--repo_dir', dump, ...to, '--validation'])
      await compareIssues(server, dump, 'go-gitea/validated')
    },
  )

  test('project exports of GitLab are restored', needsGitLab, async (t) => {
    const { godwit, folder } = await commandLine(t)
    const [into, tree] = [join(folder, 'dumps'), await unpackTree2020(t, 'complex')]
    const options = ['--to', 'gitea-dump', '--output', into, '--owner', 'corp']
    const made = await godwit(['convert', GITLAB_2019, tree, ...options])
    assert.equal(made.code, 0, made.output)
    await restoreAll(into, server)
    for (const name of ['corp/gitlab-export-2019', 'corp/export']) {
      const dump = join(into, name)
      assert.deepEqual([readDump(dump).issues.length, readDump(dump).pulls.length], [10, 9], name)
      await compareIssues(server, dump, name)
    }
    const old = 'corp/gitlab-export-2019'
    await compareComments(server, join(into, old), old)
    assert.match(made.output, /shows :musical_keyboard: only if its setting REACTIONS has it/)
  })

  test('compare finds nothing that finish should have brought', async () => {
    const finished = await finish()
    assert.equal(finished.code, 0, finished.output)
    const comparison = await compare('--finished')
    assert.equal(comparison.code, 0, comparison.output)
    assert.match(comparison.output, /^alice\/site +lfs_objects +1 +- +- +- +-$/m)
  })
})

/** Opens a pull request with two commits for each way to end it. Returns their numbers. */
async function seedMerges(seeder: ForgeSeeder, { owner, name }: { owner: string; name: string }) {
  const path = `/repos/${owner}/${name}`
  const body = { name, auto_init: true, default_branch: 'main' }
  await seeder.call('POST', `/orgs/${owner}/repos`, { body })
  const commit = (branch: string, file: string, more: object = {}) =>
    seeder.call('POST', `${path}/contents/${file}`, {
      body: {
        content: Buffer.from(`${file}\n`).toString('base64'),
        message: file,
        branch,
        ...more,
      },
    })
  await seeder.call('POST', `${path}/branches`, { body: { new_branch_name: 'release' } })
  const pulls = new Map<string, number>()
  for (const style of [
    'merge',
    'squash',
    'rebase',
    'rebase-merge',
    'fast-forward',
    'onto',
    'closed',
    'open',
  ]) {
    const base = style === 'onto' ? 'release' : 'main'
    await commit(base, `${style}-1.txt`, { new_branch: style })
    await commit(style, `${style}-2.txt`)
    // Without another commit, `rebase` adds the commits of the branch as they are.
    if (style !== 'fast-forward') await commit(base, `meanwhile-${style}.txt`)
    const pull = { head: style, base, title: style }
    const { number } = await seeder.call<{ number: number }>('POST', `${path}/pulls`, {
      body: pull,
    })
    pulls.set(style, number)
    const Do = { 'fast-forward': 'rebase', onto: 'merge' }[style] ?? style
    if (style === 'closed')
      await seeder.call('PATCH', `${path}/pulls/${number}`, { body: { state: 'closed' } })
    else if (style !== 'open')
      await seeder.callUntilDone('POST', `${path}/pulls/${number}/merge`, {
        body: { Do, MergeTitleField: style },
      })
    if (style === 'onto') await seeder.call('DELETE', `${path}/branches/release`)
  }
  return { pulls, path }
}

async function compareIssues(server: GiteaServer, dump: string, fullName: string) {
  const { issues, pulls } = readDump(dump)
  const found = await server.all<ApiJson>(`/repos/${fullName}/issues?state=all&type=issues`)
  found.push(...(await server.all<ApiJson>(`/repos/${fullName}/issues?state=all&type=pulls`)))
  const there = found.map((one) => ({
    ...{ number: one.number, title: one.title, body: one.body, state: one.state },
    ...{ labels: (one.labels as ApiJson[]).map(({ name }) => name).sort() },
    ...{ milestone: one.milestone?.title ?? '', createdAt: secondsOf(one.created_at) },
    closedAt: secondsOf(one.closed_at),
    // The server checks whether a pull request can be merged, which changes its time of update.
    updatedAt: one.pull_request ? null : secondsOf(one.updated_at),
  }))
  const dumped = [...issues, ...pulls].map((one) => ({
    ...{ number: one.number, title: one.title, body: one.content, state: one.state },
    ...{ labels: (one.labels as ApiJson[]).map(({ name }) => name).sort() },
    ...{
      milestone: one.milestone,
      createdAt: secondsOf(one.created),
      closedAt: secondsOf(one.closed),
    },
    updatedAt: 'foreignindex' in one ? null : secondsOf(one.updated),
  }))
  assert.deepEqual(there.sort(byText), dumped.sort(byText))
}

async function compareComments(server: GiteaServer, dump: string, fullName: string) {
  const { issues, pulls, comments } = readDump(dump)
  const contents = (items: ApiJson[] | null) => (items ?? []).map(({ content }) => content).sort()
  for (const { number, reactions } of [...issues, ...pulls]) {
    const base = `/repos/${fullName}/issues/${number}`
    const found = await server.api<ApiJson[] | null>(`${base}/comments`)
    assert.deepEqual(
      (found ?? []).map(({ body, created_at }) => [body, secondsOf(created_at)]).sort(byText),
      (comments.get(number) ?? []).map((one) => [one.content, secondsOf(one.created)]).sort(byText),
    )
    const reacted = await server.api<ApiJson[] | null>(`${base}/reactions`)
    assert.deepEqual(contents(reacted), contents(reactions))
  }
}

async function compareReviews(server: GiteaServer, dump: string, fullName: string) {
  const { pulls, reviews } = readDump(dump)
  for (const { number } of pulls) {
    const base = `/repos/${fullName}/pulls/${number}/reviews`
    const found = await server.all<ApiJson>(base)
    const dumped = reviews.get(number) ?? []
    assert.deepEqual(
      found
        .map(({ state, body, submitted_at }) => [state, body, secondsOf(submitted_at)])
        .sort(byText),
      dumped
        .map((one) => [REVIEW_STATES[one.state], one.content, secondsOf(one.created_at)])
        .sort(byText),
      `reviews of #${number}`,
    )
    const inline: unknown[] = []
    for (const { id } of found)
      for (const one of (await server.api<ApiJson[] | null>(`${base}/${id}/comments`)) ?? [])
        inline.push([one.path, one.body, one.position || -one.original_position])
    assert.deepEqual(
      inline.sort(byText),
      dumped
        .flatMap(({ comments }) => comments as ApiJson[])
        .map((one) => [one.tree_path, one.content, one.line])
        .sort(byText),
      `inline comments of #${number}`,
    )
  }
}
