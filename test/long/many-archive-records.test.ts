import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { gitHost } from '../support/git-host.ts'
import type { ManyRecordsActions, ManyRecordsOrder } from '../support/many-records-worker.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { withTimeout } from '../support/wait-until.ts'

/** More than a function call can have arguments in the worker. With the stack of this process, that would be 130,000. */
const COUNT = 40_000
const LEFT_OUT = 'issues: and 39,900 more of this kind'
const STACK_MB = 0.5

const fileCleanup = cleanupAfterFile()
let worker: Worker

before(async () => {
  await using host = await gitHost()
  const base = temporaryDirectory(fileCleanup)
  const folder = join(base, 'unpacked')
  const place = join(folder, 'repositories/alice')
  await mkdir(place, { recursive: true })
  const site = await host.repository('alice/site', { files: { a: '1' } })
  await host.git(['clone', '--quiet', '--bare', site, join(place, 'site.git')], { dir: base })
  const numbers = Array.from({ length: COUNT }, (_, n) => n)
  const user = (n: number) => ({ type: 'user', url: `http://h/u${n}`, login: `u${n}`, emails: [] })
  const rule = (n: number) => ({ type: 'protected_branch', url: `http://h/a/b/protected/${n}` })
  const files = {
    'schema.json': { version: '1.2.0' },
    'users_000001.json': numbers.map(user),
    'protected_branches_000001.json': numbers.map(rule),
    // All of these are invalid.
    'issues_000001.json': numbers,
  }
  for (const [name, value] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify(value))
  const workerData: ManyRecordsOrder = { folder, count: COUNT, base }
  const program = new URL('../support/many-records-worker.ts', import.meta.url)
  worker = new Worker(program, { workerData, resourceLimits: { stackSizeMb: STACK_MB } })
})
fileCleanup.after(() => worker.terminate())

/** Reads the archive in a thread with a small stack, so that fewer records are too many arguments. */
async function inWorker<Name extends keyof ManyRecordsActions>(
  name: Name,
): Promise<Awaited<ReturnType<ManyRecordsActions[Name]>>> {
  const answered = once(worker, 'message')
  worker.postMessage(name)
  const [{ result, error }] = await withTimeout(`the worker has done ${name}`, answered)
  if (error) throw error
  return result
}

test(`${COUNT} records of a kind are verified; of invalid ones the first are named`, async () => {
  const findings = await inWorker('verify')
  const ofLevel = (level: string) =>
    findings.filter((each) => 'level' in each && each.level === level)
  assert.deepEqual(ofLevel('error'), [])
  const warnings = ofLevel('warning')
  assert.equal(warnings.length, 101)
  const text = 'issues_000001.json: [99] is not an object: 99'
  assert.deepEqual(warnings[99], { level: 'warning', text, count: 1 })
  assert.deepEqual(warnings[100], { level: 'warning', text: LEFT_OUT, count: COUNT - 100 })
})

test(`an archive with ${COUNT} records of a kind is restored, and dumped for Gitea`, async () => {
  const { restored, notes } = await inWorker('restore')
  assert.deepEqual(restored, [{ fullName: 'alice/site', errors: [] }])
  assert.equal(notes.filter((line) => line.startsWith('warning: ')).length, 102)
  assert.ok(notes.includes(`warning: ${LEFT_OUT}`))

  const { dumped, warnings } = await inWorker('dump')
  assert.deepEqual(dumped, [{ fullName: 'alice/site', errors: [] }])
  assert.ok(warnings.includes(LEFT_OUT))
  assert.ok(warnings.length < 250, String(warnings.length))
})

test(`the summary of an archive with ${COUNT} invalid records names the first`, async () => {
  const { records, warnings } = await inWorker('summarize')
  assert.equal(records.issues, COUNT)
  assert.equal(warnings.length, 101)
  assert.equal(warnings.at(-1), LEFT_OUT)
  const ofPeople = await inWorker('listPeople')
  assert.ok(ofPeople?.includes(LEFT_OUT))
})
