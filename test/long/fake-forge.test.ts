import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { seedDeeply } from '../support/forge/deep-seed.ts'
import { startForge } from '../support/forge/fake-forge.ts'
import { fillForge } from '../support/forge/filled-forge.ts'
import { askForge, differences } from '../support/forge/forge-answers.ts'
import { ForgeSeeder, type Target } from '../support/forge/forge-seeder.ts'
import { loadRecordings, RECORDED_GITEA } from '../support/forge/recorded-gitea.ts'
import { type Dialect, FORGEJO_11, GITEA_1_15, GITEA_1_22 } from '../support/forge/render.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const { GODWIT_TEST_FORGE_URL: url, GODWIT_TEST_FORGE_TOKEN: token } = process.env

/**
 * Status codes and headers that Godwit relies on. The fake forge and a real one, if it is named, must pass the same tests;
 * `packages/hosts/src/forge/forge-contract.test.ts` covers the content of responses in the same way.
 */
function httpContract(
  name: string,
  start: () => Promise<Target & { stop(): Promise<void> }>,
  skip: string | false = false,
): void {
  describe(`HTTP of ${name}`, { skip }, () => {
    let target: Awaited<ReturnType<typeof start>>
    let seeder: ForgeSeeder
    let user: string
    let repository: string
    const cleanup: (() => Promise<unknown>)[] = []
    before(async () => {
      target = await start()
      seeder = new ForgeSeeder(target)
      user = await seeder.addUser('una')
      cleanup.push(() => seeder.call('DELETE', `/admin/users/${user}`))
      const organization = `${seeder.prefix}-paged`
      await seeder.call('POST', `/admin/users/${user}/orgs`, { body: { username: organization } })
      cleanup.push(() => seeder.call('DELETE', `/orgs/${organization}`))
      repository = `/repos/${organization}/lists`
      const body = { name: 'lists', auto_init: true }
      await seeder.call('POST', `/orgs/${organization}/repos`, { as: user, body })
      cleanup.push(() => seeder.call('DELETE', repository))
      for (const title of ['one', 'two', 'three'])
        await seeder.call('POST', `${repository}/issues`, { as: user, body: { title } })
    })
    after(async () => {
      for (const undo of cleanup.reverse()) await undo()
      await target?.stop()
    })

    const get = (path: string, credentials = `token ${target.token}`) =>
      fetch(`${target.url}/api/v1${path}`, { headers: { authorization: credentials } })

    test('an unknown token is 401', async () => {
      assert.equal((await get('/user', 'token unknown')).status, 401)
    })

    test('a missing repository is 404 with a message', async () => {
      const response = await get(`${repository}-missing`)
      assert.equal(response.status, 404)
      assert.equal(typeof ((await response.json()) as { message: unknown }).message, 'string')
    })

    test('an administrator can act as a user, but not as a missing one', async () => {
      const response = await get(`/user?sudo=${user}`)
      assert.equal(((await response.json()) as { login: string }).login, user)
      assert.equal((await get(`/user?sudo=${user}-missing`)).status, 404)
    })

    test('a user who is not an administrator cannot act as another', async () => {
      await assert.rejects(seeder.call('GET', '/user?sudo=root', { as: user }), /: 403 /)
    })

    test('comments of a missing issue are an error', async () => {
      // 500 in older versions.
      const { status } = await get(`${repository}/issues/99/comments`)
      assert.ok(status === 404 || status === 500, String(status))
    })

    test('a list has its total count, and a link to the next page', async () => {
      const response = await get(`${repository}/issues?state=all&limit=2&page=1`)
      assert.equal(((await response.json()) as unknown[]).length, 2)
      assert.equal(response.headers.get('x-total-count'), '3')
      assert.match(response.headers.get('link') ?? '', /<[^>]*page=2[^>]*>; ?rel="next"/)
      const last = await get(`${repository}/issues?state=all&limit=2&page=2`)
      assert.equal(((await last.json()) as unknown[]).length, 1)
      assert.doesNotMatch(last.headers.get('link') ?? '', /rel="next"/)
    })

    test('the settings have the maximum page size', async () => {
      const settings = (await (await get('/settings/api')).json()) as Record<string, unknown>
      assert.equal(typeof settings.max_response_items, 'number')
    })
  })
}

for (const dialect of [GITEA_1_15, FORGEJO_11])
  httpContract(`the fake forge as ${dialect.version}`, async () => {
    const { url, stop } = await startForge({ dialect })
    return { url, token: 'admin-token', stop }
  })

httpContract(
  'a real forge',
  async () => ({ url: url!, token: token!, stop: async () => {} }),
  !(url && token) && 'GODWIT_TEST_FORGE_URL and GODWIT_TEST_FORGE_TOKEN name no forge',
)

/** What a real Gitea 1.15 answered about the deep seed. */
const RECORDED_ANSWERS = new URL('../support/forge/recorded-answers.json', import.meta.url)

async function seedAndAsk(target: Target) {
  const scene = await seedDeeply(target)
  try {
    return await askForge(target, scene)
  } finally {
    await scene.remove()
  }
}

async function askFakeForge(t: TestContext, dialect: Dialect) {
  const directory = temporaryDirectory(t)
  await mkdir(join(directory, 'repositories'))
  const forge = await startForge({ dialect, directory })
  t.after(() => forge.stop())
  const answers = await seedAndAsk({ url: forge.url, token: 'admin-token' })
  assert.equal(forge.world.repositories.size, 0, 'the scene is removed')
  return answers
}

test('the fake forge answers as a recorded Gitea 1.15 about the same content', async (t) => {
  const recorded = JSON.parse(await readFile(RECORDED_ANSWERS, 'utf8'))
  assert.deepEqual(differences(recorded, await askFakeForge(t, GITEA_1_15)), [])
})

test('the fake forge of a newer version takes the same content, with files, pins and dependencies by its API', async (t) => {
  const { answers, described } = await askFakeForge(t, GITEA_1_22)
  for (const name of ['assets', 'dependencies', 'pin'])
    assert.ok(described.includes(`post /repos/{owner}/{repo}/issues/{index}/${name}`), name)
  assert.ok(!described.includes('put /repos/{owner}/{repo}/issues/{index}/lock'))
  const statuses = Object.entries(answers).map(([request, { status }]) => [request, status])
  assert.deepEqual(
    statuses.filter(([request]) => /\/(?:attic\/issues |pin$|assets$)/.test(String(request))),
    [
      ['POST /repos/x-org/attic/issues {"title":"too late"}', 423],
      ['POST /repos/x-org/widgets/issues/1/pin', 204],
      ['GET /repos/x-org/widgets/issues/1/assets', 200],
    ],
  )
})

/** With `GODWIT_TEST_RECORD`, the answers of a Gitea 1.15 become the recording. */
test('the fake forge answers as a real forge about the same content', {
  skip: !(url && token) && 'GODWIT_TEST_FORGE_URL and GODWIT_TEST_FORGE_TOKEN name no forge',
}, async (t) => {
  const real = await seedAndAsk({ url: url!, token: token! })
  if (process.env.GODWIT_TEST_RECORD)
    await writeFile(RECORDED_ANSWERS, `${JSON.stringify(real, null, 1)}\n`)
  const dialects = [GITEA_1_15, GITEA_1_22, FORGEJO_11]
  const dialect = dialects.find(({ version }) => version === real.version)
  if (!dialect) return t.skip(`the fake forge does not play ${real.version}`)
  assert.deepEqual(differences(real, await askFakeForge(t, dialect)), [])
})

/** Paths of the recorded repository, with the path of the same kind of resource on the fake forge. */
const RECORDED_PATHS: Record<string, string> = {
  '': '/repos/octo/tools',
  '/labels': '/repos/octo/tools/labels',
  '/milestones': '/repos/octo/tools/milestones?state=all',
  '/releases': '/repos/octo/tools/releases',
  '/issues': '/repos/octo/tools/issues?state=all',
  '/issues/4/comments': '/repos/octo/tools/issues/comments',
  '/pulls': '/repos/octo/tools/pulls?state=all',
  '/topics': '/repos/octo/tools/topics',
}

test(
  'every field of the fake forge is in the recorded responses of gitea.com',
  RECORDED_GITEA.needed,
  async (t) => {
    const forge = await startForge()
    t.after(() => forge.stop())
    fillForge(forge)
    const recordings = loadRecordings()
    for (const [recorded, path] of Object.entries(RECORDED_PATHS)) {
      const headers = { authorization: 'token admin-token' }
      const response = await fetch(`${forge.url}/api/v1${path}`, { headers })
      const real = recordings.get(`/api/v1/repos/gitea/test_repo${recorded}`)!.body
      const samples = Array.isArray(real) ? real : [real]
      assert.deepEqual(unknownFields(await response.json(), samples), [], path)
    }
  },
)

/** Returns the fields of a value that no sample has, or that have another type in all samples. */
function unknownFields(value: unknown, samples: readonly unknown[], path = ''): string[] {
  if (Array.isArray(value)) {
    const items = samples.flatMap((sample) => (Array.isArray(sample) ? sample : [sample]))
    return [...new Set(value.flatMap((each) => unknownFields(each, items, path)))]
  }
  if (typeof value !== 'object' || value === null) return []
  const objects = samples.filter((each) => typeof each === 'object' && each !== null) as Record<
    string,
    unknown
  >[]
  // No recorded repository has such an object.
  if (objects.length === 0) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const known = objects.filter((each) => name in each).map((each) => each[name])
    if (known.length === 0) return [`${path}.${name}`]
    const types = new Set(known.filter((each) => each !== null).map((each) => typeof each))
    if (inner !== null && types.size > 0 && !types.has(typeof inner))
      return [`${path}.${name}: type`]
    return unknownFields(inner, known, `${path}.${name}`)
  })
}
