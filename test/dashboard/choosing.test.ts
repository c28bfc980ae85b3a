import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { leave, needsChromium, visit } from '../support/browser.ts'
import { arrived, pagesPort, part } from '../support/dashboard.ts'
import { storyInRow } from '../support/export-story.ts'

const run = promisify(execFile)
const HOW_MANY = 45

test(
  'choosing among many, page by page or all at once; the same as a command to paste',
  needsChromium,
  async (t) => {
    const story = await storyInRow(t, {
      port: await pagesPort(),
      async repositories(host) {
        const first = await host.repository('alice/r-01', { files: { a: '1' } })
        for (let number = 2; number <= HOW_MANY; number += 1) {
          const name = `alice/r-${String(number).padStart(2, '0')}`
          await cp(first, host.path(name), { recursive: true })
        }
      },
    })
    const token = await story.service.token('alice')
    const page = await visit(t, `${story.service.url}/#/new`, { token })
    const picker = part(page, 'Repositories')
    await picker.getByRole('checkbox', { name: 'alice/r-01' }).check()
    await picker.getByRole('link', { name: 'Page 3' }).click()
    await picker.getByRole('checkbox', { name: 'alice/r-45' }).check()
    await picker.getByText('2 selected').waitFor()
    await picker.getByRole('button', { name: `Select all ${HOW_MANY}` }).click()
    await picker.getByText(`${HOW_MANY} selected`).waitFor()
    await picker.getByRole('button', { name: 'Clear' }).click()
    await picker.getByRole('searchbox').fill('r-3')
    await picker.getByRole('checkbox', { name: 'alice/r-45' }).waitFor({ state: 'detached' })
    await picker.getByLabel('Select all', { exact: true }).check()
    await picker.getByText('10 selected').waitFor()

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    // The button says so for a moment only, and this for longer.
    await page.getByText('Command copied').waitFor()
    const command = (await page.evaluate('navigator.clipboard.readText()')) as string
    assert.ok(!command.includes('gwt_'), 'the token is named, not written out')
    const env = { PATH: process.env.PATH, GODWIT_TOKEN: token }
    const { stdout } = await run('bash', ['-c', command], { env, maxBuffer: 1 << 24 })
    const started = JSON.parse(stdout) as { id: number; repositories: { full_name: string }[] }
    assert.equal(started.repositories.length, 10)
    assert.ok(started.repositories.every(({ full_name }) => full_name.startsWith('alice/r-3')))

    await page.goto(`${story.service.url}/#/migrations/${started.id}`)
    await arrived(page, `Migration ${started.id}`)
    await page.getByText('The archive is ready').waitFor()
    await leave(page)
  },
)
