import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandLine } from '../support/command-line.ts'
import { sharedExportStory } from '../support/export-story.ts'

/** The 255 bytes of a file name, less `.git` or `.wiki.git`. */
const LONGEST = 'n'.repeat(251)
const LONGEST_WITH_WIKI = 'w'.repeat(246)
const LONGEST_OWNER = 'o'.repeat(251)
const NAMES = [`alice/${LONGEST}`, `${LONGEST_OWNER}/${LONGEST_WITH_WIKI}`]

test('repositories with the longest names are listed, exported, unlocked and restored', async (t) => {
  const story = await sharedExportStory(t, {
    async repositories(host) {
      const config = { 'godwit.collaborator': 'alice:admin' }
      await host.repository(NAMES[0]!, { files: { a: '1' } })
      await host.repository(NAMES[1]!, { files: { a: '2' }, wiki: { 'Home.md': '#' }, config })
    },
  })
  const listed = (await (await story.call('/user/repos')).json()) as { full_name: string }[]
  assert.deepEqual(listed.map(({ full_name }) => full_name).sort(), NAMES.toSorted())

  const [locked, tooLong] = NAMES as [string, string]
  const { id } = await story.migrate([locked], { lock_repositories: true })
  const path = `/user/migrations/${id}/repos/${encodeURIComponent(locked)}/lock`
  assert.equal((await story.call(path, { method: 'DELETE' })).status, 204)
  await story.host.push(locked, { b: 'unlocked' })

  // Owner and name together can exceed the longest path of a lock file.
  const body = JSON.stringify({ repositories: [tooLong], lock_repositories: true })
  const refused = await story.call('/user/migrations', { method: 'POST', body })
  assert.equal(refused.status, 422)
  assert.match(await refused.text(), /its path is too long for a lock/)

  const ended = await story.migrate(NAMES)
  const archive = await story.download(ended.id)
  const { folder, godwit } = await commandLine(t)
  const verified = await godwit(['verify', archive])
  assert.equal(verified.code, 0, verified.output)
  const restored = await godwit(['restore', archive, '--into', join(folder, 'host')])
  assert.equal(restored.code, 0, restored.output)
  for (const name of [...NAMES, `${NAMES[1]}.wiki`])
    assert.ok(existsSync(join(folder, 'host', `${name}.git`, 'HEAD')), name)
})
