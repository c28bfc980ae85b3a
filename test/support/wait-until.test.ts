import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'

/** What a process says that waits in vain, and is told to wait for so long. */
function inVain(wait: string, seconds: string): Promise<string> {
  const from = JSON.stringify(new URL('wait-until.ts', import.meta.url).href)
  const script = `import { inTime, until } from ${from}\nsetInterval(() => {}, 1000)\nawait ${wait}`
  const env = { ...process.env, GODWIT_TEST_TIMEOUT: seconds }
  return new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', script], { env }, (_, __, said) =>
      resolve(said),
    )
  })
}

test('whoever waits in vain is told for what, and how long is a setting', async () => {
  const waits = [`until('pigs fly', () => false)`, `inTime('pigs fly', new Promise(() => {}))`]
  for (const said of await Promise.all(waits.map((wait) => inVain(wait, '0.2')))) {
    assert.match(said, /Error: it never came about that pigs fly; waited 0\.2 s/)
  }
})

test('what is looked for is answered as soon as it is seen', async () => {
  const { inTime, until } = await import('./wait-until.ts')
  let looks = 0
  assert.equal(await until('the third look', () => ++looks === 3 && 'seen'), 'seen')
  assert.equal(await inTime('an answer', Promise.resolve(7)), 7)
})
