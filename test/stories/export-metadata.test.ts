import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { readManifest } from '../support/export-proof.ts'
import { type SharedStory, type StartFlags, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import type { GitHost } from '../support/git-host.ts'

type Json = Record<string, unknown>

const NAMES = ['octo/tools', 'alice/site', 'alice/notes']

async function makeRepositories(host: GitHost): Promise<void> {
  await host.repository('alice/notes', { files: { a: '1' } })
  await host.repository('alice/site', {
    files: { a: '1' },
    wiki: { 'Home.md': '# Home' },
    description: 'Gärten\nfür alle\n',
    public: true,
    config: {
      'gitweb.url': 'https://site.example.com',
      'godwit.topic': 'birds',
      'godwit.collaborator': ['bob:write', 'Carol:read'],
    },
  })
  await host.repository('octo/tools', {
    files: { a: '1' },
    config: { 'godwit.collaborator': ['alice:admin', 'bob:write'] },
  })
}

const fileCleanup = cleanupAfterFile()
let story: SharedStory

before(async () => {
  story = await sharedExportStory(fileCleanup, { repositories: makeRepositories })
  await story.service.godwit('account', 'edit', 'octo', '--type', 'Organization')
})

/** Returns the archive of one migration: its top-level files, and their JSON. */
async function archiveOf({ migrate, unpack }: SharedStory, names: string[], flags?: StartFlags) {
  const { id } = await migrate(names, flags)
  const folder = await unpack(id)
  const read = (path: string) => JSON.parse(readFileSync(join(folder, path), 'utf8'))
  return {
    folder,
    top: readdirSync(folder).sort(),
    read: (path: string) => read(path) as Json,
    records: (path: string) => read(path) as Json[],
  }
}

const TIME = '2020-01-02T03:04:05Z'
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000\+00:00$/

test('the records have the shape that importers know', async () => {
  const { url } = story.service
  const { folder, top, read, records } = await archiveOf(story, NAMES)
  assert.deepEqual(top, [
    'godwit-manifest.json',
    'organizations_000001.json',
    'repositories',
    'repositories_000001.json',
    'schema.json',
    'users_000001.json',
  ])
  for (const file of top.filter((name) => name.endsWith('.json'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    assert.equal(text, `${JSON.stringify(JSON.parse(text), null, 2)}\n`, file)
  }
  assert.deepEqual(read('schema.json'), { version: '1.0.1' })
  assert.deepEqual(
    records('users_000001.json').map(({ type, login, url }) => [type, login, url]),
    ['alice', 'bob', 'Carol'].map((login) => ['user', login, `${url}/${login}`]),
  )
  const [organization, ...others] = records('organizations_000001.json')
  assert.deepEqual(
    [organization!.type, organization!.url, others],
    ['organization', `${url}/octo`, []],
  )
  // alice administers octo/tools and bob reads it: neither makes them a member of octo.
  assert.deepEqual(organization!.members, [])

  const repositories = records('repositories_000001.json').sort(byUrl)
  assert.deepEqual(
    repositories.map((record) => [record.url, record.owner, record.git_url, record.wiki_url]),
    [
      [`${url}/alice/notes`, `${url}/alice`, inArchive('alice/notes'), undefined],
      [`${url}/alice/site`, `${url}/alice`, inArchive('alice/site'), inArchive('alice/site.wiki')],
      [`${url}/octo/tools`, `${url}/octo`, inArchive('octo/tools'), undefined],
    ],
  )
  for (const name of ['notes', 'tools'])
    assert.ok(!('wiki_url' in repositories.find((record) => record.name === name)!), name)
  const { created_at, updated_at, ...topic } = (repositories[1]!.repository_topics as Json[])[0]!
  assert.deepEqual(topic, {
    topic_url: null,
    topic_name: 'birds',
    repository: `${url}/alice/site`,
    creator: `${url}/alice`,
    state: 'created',
  })
  for (const time of [created_at, updated_at]) assert.match(time as string, timestamp)
  const { description, website, private: isPrivate, collaborators, ...site } = repositories[1]!
  assert.deepEqual(
    [description, website, isPrivate],
    ['Gärten für alle', 'https://site.example.com', false],
  )
  assert.deepEqual(collaborators, [
    { user: `${url}/bob`, permission: 'write' },
    { user: `${url}/Carol`, permission: 'read' },
  ])
  assert.deepEqual([site.type, site.created_at, site.default_branch], ['repository', TIME, 'main'])
})

test('the members of an organization are in the archives of its owners', async () => {
  const { url, godwit } = story.service
  await godwit('account', 'add', 'dave')
  await godwit('member', 'add', 'octo', 'dave', '--role', 'owner')
  const membersIn = async () => {
    const { records } = await archiveOf(story, ['octo/tools'])
    const logins = records('users_000001.json').map(({ login }) => login)
    return { members: records('organizations_000001.json')[0]!.members, logins }
  }
  assert.deepEqual(await membersIn(), { members: [], logins: ['alice', 'bob'] })
  await godwit('member', 'add', 'Octo', 'Alice')
  const member = (login: string, role: string) => ({
    user: `${url}/${login}`,
    role,
    state: 'active',
  })
  assert.deepEqual(await membersIn(), {
    members: [member('alice', 'direct_member'), member('dave', 'admin')],
    logins: ['alice', 'bob', 'dave'],
  })
  const list = JSON.parse(await godwit('member', 'list', '--json'))
  assert.deepEqual(list[1], {
    organization: 'octo',
    login: 'dave',
    role: 'owner',
    origin: 'manual',
  })
  await godwit('member', 'remove', 'octo', 'dave')
  await assert.rejects(godwit('member', 'remove', 'octo', 'dave'), /dave is not a member of octo/)
  await assert.rejects(
    godwit('member', 'add', 'octo', 'alice'),
    /alice is a member of octo already/,
  )
  await assert.rejects(
    godwit('member', 'edit', 'octo', 'dave', '--role', 'owner'),
    /dave is not a member of octo: `godwit member add octo dave` adds it/,
  )
  const edited = await godwit('member', 'edit', 'octo', 'alice', '--role', 'owner', '--json')
  assert.deepEqual([JSON.parse(edited).login, JSON.parse(edited).role], ['alice', 'owner'])
  await assert.rejects(godwit('member', 'add', 'alice', 'dave'), /alice is a user/)
  await assert.rejects(godwit('member', 'add', 'octo', 'nobody'), /account nobody does not exist/)
})

test('without git data an archive has only records, a hundred per file', async (t) => {
  const names = Array.from({ length: 105 }, (_, n) => `alice/r${n}`)
  const story = await sharedExportStory(t, {
    async repositories(host) {
      for (const name of names) await host.repository(name)
      await host.repository('alice/r7.wiki', { files: { a: '1' } })
    },
  })
  const { folder, top, records } = await archiveOf(story, names, { exclude_git_data: true })
  assert.deepEqual(top, [
    'godwit-manifest.json',
    'repositories_000001.json',
    'repositories_000002.json',
    'schema.json',
    'users_000001.json',
  ])
  const files = [records('repositories_000001.json'), records('repositories_000002.json')]
  assert.deepEqual(
    files.map((file) => file.length),
    [100, 5],
  )
  const all = files.flat()
  assert.deepEqual(
    all.map((record) => record.git_url),
    (await inOrderOfIds(story, names)).map(inArchive),
  )
  assert.ok(all.every((record) => !('wiki_url' in record)))
  assert.deepEqual(readManifest(folder).repositories, [])
})

test('without metadata an archive has no users', async () => {
  const { top, folder } = await archiveOf(story, NAMES, { exclude_metadata: true })
  assert.deepEqual(top, [
    'godwit-manifest.json',
    'organizations_000001.json',
    'repositories',
    'repositories_000001.json',
    'schema.json',
  ])
  assert.deepEqual(readdirSync(join(folder, 'repositories')), ['alice', 'octo'])
  assert.deepEqual(readdirSync(join(folder, 'repositories/alice')), [
    'notes.git',
    'site.git',
    'site.wiki.git',
  ])
})

test('a migration of organization metadata only has their records and no repositories', async () => {
  const { top, records } = await archiveOf(story, [], { org_metadata_only: true })
  assert.deepEqual(top, ['godwit-manifest.json', 'organizations_000001.json', 'schema.json'])
  assert.deepEqual(
    records('organizations_000001.json').map(({ login }) => login),
    ['octo'],
  )
})

const byUrl = (a: Json, b: Json): number => (String(a.url) < String(b.url) ? -1 : 1)

async function inOrderOfIds({ call }: SharedStory, names: readonly string[]): Promise<string[]> {
  const ids = new Map<string, number>()
  for (const page of [1, 2]) {
    const response = await call(`/user/migrations/1/repositories?per_page=100&page=${page}`)
    for (const { full_name, id } of (await response.json()) as { full_name: string; id: number }[])
      ids.set(full_name, id)
  }
  return names.toSorted((a, b) => ids.get(a)! - ids.get(b)!)
}

const inArchive = (fullName: string): string => `tarball://root/repositories/${fullName}.git`
