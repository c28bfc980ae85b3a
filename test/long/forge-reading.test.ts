import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const scriptPath = (name: string) => new URL(`../support/forge/${name}`, import.meta.url).pathname

function startScript(t: TestContext, name: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [...HEAP, scriptPath(name), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}

const linesOf = (child: ChildProcess) => createInterface({ input: child.stdout! })

async function startForge(t: TestContext, issues: number, textLength = 0): Promise<string> {
  const forge = startScript(t, 'forge-test-process.ts', String(issues), String(textLength))
  const [url] = (await once(linesOf(forge), 'line')) as [string]
  return url
}

const HEAP = ['--max-semi-space-size=4', '--max-old-space-size=100']
const KILLS = 9

interface Outcome {
  changeToken: string
  megabytes: number
  requests: number
}

/** Resolves to undefined if it was killed after this many batches. */
async function read(
  t: TestContext,
  url: string,
  directory: string,
  batches = Number.POSITIVE_INFINITY,
): Promise<Outcome | undefined> {
  const reader = startScript(t, 'reading-test-process.ts', url, directory)
  const exit = once(reader, 'exit')
  let [last, count] = ['', 0]
  for await (const line of linesOf(reader)) {
    last = line
    if (++count >= batches) reader.kill('SIGKILL')
  }
  await exit
  return last.startsWith('{') ? (JSON.parse(last) as Outcome) : undefined
}

// Their texts have 150 MB, so a reader that kept them would end without memory.
test('reading issues with long texts needs little memory', async (t) => {
  const url = await startForge(t, 1500, 100_000)
  const outcome = await read(t, url, temporaryDirectory(t))
  assert.ok(outcome)
  t.diagnostic(`${outcome.megabytes} MB, ${outcome.requests} requests`)
  assert.ok(outcome.megabytes <= 250, `${outcome.megabytes} MB`)
})

test('a reader that is killed nine times reads the same as one that is not', async (t) => {
  const url = await startForge(t, 1500)
  const uninterrupted = await read(t, url, temporaryDirectory(t))
  assert.ok(uninterrupted)
  const directory = temporaryDirectory(t)
  for (let kill = 0; kill < KILLS; kill++)
    assert.equal(await read(t, url, directory, 1 + (kill % 3)), undefined, `run ${kill}`)
  const resumed = await read(t, url, directory)
  assert.ok(resumed)
  assert.equal(resumed.changeToken, uninterrupted.changeToken)
  t.diagnostic(
    `${uninterrupted.requests} requests at once, ${resumed.requests} in the last of ${KILLS + 1} runs`,
  )
  assert.ok(resumed.requests < uninterrupted.requests)
})
