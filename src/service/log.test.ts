import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const LOG = new URL('log.ts', import.meta.url).href
const EVIL = 'a\x1b]0;x\x07b\u009b31mc\u202ed\u2066e\u200ff\x7f\r\n\tg\u2028'
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

async function logged(logFormat: 'json' | 'text'): Promise<string> {
  const script = `
    const { openLog } = await import(${JSON.stringify(LOG)})
    const { log, close } = openLog({ logLevel: 'info', logFormat: '${logFormat}' })
    const evil = ${JSON.stringify(EVIL)}
    log.info({ path: evil, err: new Error(evil) }, evil)
    await close()`
  const args = ['--input-type=module', '-e', script]
  return (await promisify(execFile)(process.execPath, args)).stderr
}

test('a line of the log cannot steer the terminal that shows it, and is the value that was logged', async () => {
  const line = await logged('json')
  assert.doesNotMatch(line, UNSAFE)
  const { path, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>
  assert.deepEqual([path, msg, (err as Error).message], [EVIL, EVIL, EVIL])
  assert.deepEqual(Object.keys(rest), ['level', 'time'])
  assert.equal(line.split('\n').length, 2)
})

test('nor can a line that is for people', async () => {
  const text = await logged('text')
  assert.match(text, /INFO/)
  assert.doesNotMatch(text, UNSAFE)
})
