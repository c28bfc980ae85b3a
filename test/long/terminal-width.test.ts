import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { createCommandRunner } from '../support/shared-commands.ts'
import { godwitAtTerminal, needsTerminal } from '../support/terminal.ts'
import { until } from '../support/wait-until.ts'

const wholeFile = cleanupAfterFile()
let story: SharedStory
let folder: string
let env: Record<string, string>

before(async () => {
  story = await sharedExportStory(wholeFile, {
    async repositories(host) {
      await host.repository('alice/a-repository-with-a-rather-long-name', { files: { a: '1' } })
      await host.repository('alice/site', { files: { a: '1' } })
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/grafted'))
    },
  })
  const { service } = story
  folder = temporaryDirectory(wholeFile)
  await writeFile(join(folder, 'token'), await service.token('alice'))
  env = { GODWIT_URL: service.url, GODWIT_TOKEN_FILE: join(folder, 'token') }
  const names = ['alice/a-repository-with-a-rather-long-name', 'alice/site']
  await story.migrate(names)
  await story.migrate(['alice/site', 'alice/grafted'], {}, 'failed')
  const add = 'schedule add alice/site --every week --weekday sunday --at 03:30'
  const { code, stderr } = await inRow(`${add} --time-zone America/Argentina/Buenos_Aires`)
  assert.equal(code, 0, stderr)
  // The service stores the last use of tokens some time after the request.
  await until('the last use of both tokens is stored', async () => {
    const { stdout } = await inRow(`token list --data ${service.data}`)
    return stdout.match(/from 127\.0\.0\.1/g)?.length === 2
  })
})

const inRow = (line: string) => createCommandRunner()(line.split(' '), env)

const inRows = (lines: readonly string[], columns: number) =>
  godwitAtTerminal(
    lines.map((line) => line.split(' ')),
    { cwd: folder, env, columns },
  )

/** Ages differ between two runs of a command. */
const AGE = /just now|\d+ (?:second|minute)s? ago|in \d+ \w+/g

/** A line may exceed the width only by a word that has it for itself. */
const fits = (line: string, columns: number): boolean =>
  line.length <= columns || /^(?:\S+(?: \S+)* {2,}| *)\S+$/.test(line)

for (const columns of [40, 80])
  test(
    `tables and details fit ${columns} columns, and no word is lost`,
    needsTerminal,
    async () => {
      const data = `--data ${story.service.data}`
      const lines = [
        'migration list',
        'migration show 1',
        'migration show 2',
        'migration repositories 1',
        'schedule list',
        'schedule show 1',
        `token list ${data}`,
        `account list ${data}`,
        'auth status',
      ]
      const narrow = await inRows(lines, columns)
      for (const [n, line] of lines.entries()) {
        const wide = await inRow(line)
        assert.equal(wide.code, 0, `${line}: ${wide.stderr}`)
        const { code, shown } = narrow[n]!
        assert.equal(code, 0, shown)
        const rows = stripVTControlCharacters(shown).split(/\r?\n/)
        for (const each of rows) assert.ok(fits(each, columns), `${line} at ${columns}: ${each}`)
        const found = new Set(rows.join(' ').split(/ +/))
        const words = wide.stdout.replaceAll(AGE, '').trim().split(/\s+/)
        const lost = words.filter((word) => !found.has(word))
        assert.deepEqual(lost, [], `${line} at ${columns}:\n${shown}`)
      }
    },
  )

test('the help fits 40 columns', needsTerminal, async () => {
  const lines = ['--help', 'migration start --help', 'auth login --help']
  for (const [n, { shown }] of (await inRows(lines, 40)).entries()) {
    const line = lines[n]
    const [described = ''] = stripVTControlCharacters(shown).split(/Examples:|Exit codes:/)
    const rows = described.split(/\r?\n/).filter((each) => !each.startsWith('Usage:'))
    for (const each of rows) assert.ok(fits(each, 40), `${line}: ${each}`)
  }
})
