import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/archive-samples.ts'
import { gitHost } from '../support/git-host.ts'
import { writeUnpackedArchive } from '../support/gitea-archive.ts'

const run = promisify(execFile)
const MAIN = new URL('../../packages/cli/src/main.ts', import.meta.url).pathname
const COUNT = 8000
/** As in archives of GitHub. */
const FILE_SIZE = 100
/** The pages have 23 MB, and the program runs with a heap of 24. */
const HEAP = ['--max-semi-space-size=4', '--max-old-space-size=32']
const MAX_MIB = 160

/** Prints the peak memory on standard error at exit. */
const PRINT_PEAK_MEMORY = `process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)))`

const HOST = 'https://old.example.com/alice/site'
const AT = '2021-03-02T12:00:00Z'
const WORDS = 'Some **words** of a text that is about as long as people write. '.repeat(5)

const issue = (number: number) => ({
  ...{ type: 'issue', url: `${HOST}/issues/${number}`, repository: HOST, user: 'https://h/alice' },
  ...{
    title: `Issue ${number}`,
    body: `${WORDS}\n\nSee #${(number % COUNT) + 1}.`,
    created_at: AT,
  },
})
const comment = (number: number) => ({
  ...{ type: 'issue_comment', url: `${HOST}/issues/${number}#issuecomment-${number}` },
  ...{ issue: `${HOST}/issues/${number}`, user: 'https://h/bob', body: WORDS, created_at: AT },
})

test(`a site of ${COUNT} issues is written in little memory, with lists in pages`, async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { 'README.md': '# Site' } })
  const folder = await temporaryFolder(t)
  const repository = {
    ...{ owner: 'alice', name: 'site', description: null, website: null, private: false },
    ...{ labels: [], collaborators: [], defaultBranch: 'main', createdAt: AT },
    git: 'repositories/alice/site.git',
  }
  const archive = join(folder, 'archive')
  await writeUnpackedArchive(archive, host, { repositories: [repository] })
  for (let from = 1, file = 1; from <= COUNT; from += FILE_SIZE, file++) {
    const numbers = Array.from({ length: FILE_SIZE }, (_, n) => from + n)
    const name = `${String(file).padStart(6, '0')}.json`
    await writeFile(join(archive, `issues_${name}`), JSON.stringify(numbers.map(issue)))
    await writeFile(join(archive, `issue_comments_${name}`), JSON.stringify(numbers.map(comment)))
  }

  const output = join(folder, 'site')
  const printPeak = `data:text/javascript,${encodeURIComponent(PRINT_PEAK_MEMORY)}`
  const command = ['convert', archive, '--to', 'html', '--output', output]
  const args = [...HEAP, '--import', printPeak, MAIN, ...command]
  const start = performance.now()
  const { stderr } = await run(process.execPath, args)
  const peakMiB = Math.round(Number(/\d+$/.exec(stderr)?.[0]) / 1024)
  t.diagnostic(`${peakMiB} MiB at most, ${Math.round((performance.now() - start) / 1000)} s`)
  assert.ok(peakMiB <= MAX_MIB, `${peakMiB} MiB`)

  const issues = join(output, 'repositories/alice/site/issues')
  const files = new Set(await readdir(issues))
  const missing = Array.from({ length: COUNT }, (_, n) => `${n + 1}.html`).filter(
    (name) => !files.has(name),
  )
  assert.deepEqual(missing, [])
  const newest = await readFile(join(issues, 'index.html'), 'utf8')
  assert.match(newest, /<a href="8000.html">/)
  assert.match(newest, /<a href="page-80.html">80<\/a>/)
  assert.match(await readFile(join(issues, 'page-80.html'), 'utf8'), /<a href="1.html">/)
  assert.match(await readFile(join(issues, '7.html'), 'utf8'), /<a href="8.html">#8<\/a>/)
})
