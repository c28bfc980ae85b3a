import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { endVisit, needsChromium, visit } from '../../../test/support/browser.ts'
import { dashboardPort, section } from '../../../test/support/dashboard.ts'
import { sharedExportStory } from '../../../test/support/export-story.ts'
import { temporaryDirectory } from '../../../test/support/sample-repositories.ts'
import { slowGit } from '../../../test/support/slow-git.ts'
import { until } from '../../../test/support/wait-until.ts'

const BIN = dirname(new URL('../../../bin/godwit', import.meta.url).pathname)
const run = promisify(execFile)

/** Replaces the notifications of the browser, which a test cannot see, and grants the permission on request. */
const RECORD_NOTIFICATIONS = `
  globalThis.notified = []
  globalThis.asked = 0
  globalThis.Notification = class {
    static permission = 'default'
    static async requestPermission() {
      asked += 1
      return (this.permission = 'granted')
    }
    constructor(title) { notified.push(title) }
  }`

test(
  'a page shows what happens now, also in its title, and at the end what to do next',
  needsChromium,
  async (t) => {
    const slow = await slowGit({ afterFirst: 1 })
    t.after(slow.remove)
    const story = await sharedExportStory(t, {
      port: await dashboardPort(),
      async repositories(host) {
        const files = { 'README.md': 'Words\n'.repeat(500) }
        for (const name of ['atlas', 'birds']) await host.repository(`alice/${name}`, { files })
      },
      flags: ['--git', slow.program, '--concurrency', '1'],
    })
    const token = await story.service.token('alice')
    const id = await story.start(['alice/atlas', 'alice/birds'])
    const page = await visit(t, `${story.service.url}/#/migrations/${id}`, { token })
    const progress = section(page, 'Progress')
    const inWork = progress.getByRole('list', { name: 'In work' })
    await inWork.getByText(/^alice\/birds packing/).waitFor()
    assert.equal(await inWork.getByText('alice/atlas').count(), 0)
    await progress.getByText(/^\d+ % Exporting git data$/).waitFor()
    assert.match(await page.title(), new RegExp(`^\\d+ % · Migration ${id} · Godwit$`))

    await page.evaluate(RECORD_NOTIFICATIONS)
    assert.equal(await page.evaluate('asked'), 0)
    await page.getByRole('button', { name: 'Notify me' }).click()
    await page.getByRole('button', { name: 'Notify me', pressed: true }).waitFor()
    assert.equal(await page.evaluate(`localStorage.getItem('godwit.notify')`), 'yes')

    await slow.speedUp()
    await page.getByText('The archive is ready').waitFor()
    await inWork.waitFor({ state: 'detached' })
    assert.equal(await page.title(), `Exported · Migration ${id} · Godwit`)
    assert.deepEqual(await page.evaluate('notified'), [`Migration ${id} is exported`])
    const actions = page.getByRole('main').getByRole('button')
    await actions.filter({ hasText: 'Delete' }).waitFor()
    const names = (await actions.allInnerTexts()).filter((name) => name !== '')
    assert.deepEqual(names, ['Download', 'Run again', 'Copy as curl', 'Delete'])

    // The commands work as they are shown.
    const steps = section(page, 'Next steps')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const cwd = temporaryDirectory(t)
    const env = {
      ...process.env,
      PATH: `${BIN}:${process.env.PATH}`,
      GODWIT_URL: story.service.url,
      GODWIT_TOKEN: token,
    }
    const buttons = await steps.getByRole('button', { name: /^Copy: / }).all()
    assert.equal(buttons.length, 4)
    for (const button of buttons) {
      await button.click()
      const copied = await until('the command is copied', async () =>
        page.evaluate('navigator.clipboard.readText()').then((text) => String(text) || false),
      )
      await run('sh', ['-c', copied], { cwd, env })
      await page.evaluate(`navigator.clipboard.writeText('')`)
    }
    const restored = await readdir(join(cwd, 'restored'), { recursive: true })
    for (const name of ['atlas', 'birds'])
      assert.ok(restored.includes(`alice/${name}.git/HEAD`), restored.join('\n'))
    await endVisit(page)
  },
)
