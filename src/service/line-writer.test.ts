import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryDirectory } from '../../test/support/odd-repositories.ts'
import { until } from '../../test/support/wait-until.ts'
import { LineWriter } from './line-writer.ts'

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

/** A pipe whose both ends are here. */
function pipe(t: TestContext) {
  const path = join(temporaryDirectory(t), 'pipe')
  execFileSync('mkfifo', [path])
  const reading = openSync(path, O_RDONLY | O_NONBLOCK)
  const writing = openSync(path, O_WRONLY | O_NONBLOCK)
  t.after(() => closeSync(writing))
  return { reading, writing }
}

/** More than a pipe holds. */
const TAKEN = Buffer.alloc(1024 * 1024)

function take(fd: number): string {
  try {
    return TAKEN.toString('latin1', 0, readSync(fd, TAKEN))
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
    return ''
  }
}

/** Looks more often than most tests do: of megabytes a pipe holds a sixteenth. */
async function takeUntil(
  what: string,
  fd: number,
  isEnough: (last: string, length: number) => boolean,
): Promise<string> {
  const taken: string[] = []
  let length = 0
  await until(what, async () => {
    for (let looks = 0; looks < 100; looks++) {
      const piece = take(fd)
      taken.push(piece)
      length += piece.length
      if (isEnough(piece, length)) return true
      await sleep(1)
    }
    return false
  })
  return taken.join('')
}

/** What the writer waits for a reader, where a test has many such waits. */
const PAUSE_MS = 1
const asItIs = (line: string) => line

const lineOf = (index: number) => `${JSON.stringify({ index, text: 'x'.repeat(200) })}\n`

test('every line comes out once and in order, however they are gathered', async (t) => {
  const path = join(temporaryDirectory(t), 'log')
  const fd = openSync(path, 'w')
  const lines = new LineWriter(fd)
  let expected = ''
  for (let index = 0; index < 5000; index++) {
    lines.write(lineOf(index))
    expected += lineOf(index)
    if (index % 100 === 0) await sleep(1)
  }
  await lines.close()
  assert.equal(readFileSync(path, 'utf8'), expected)
  closeSync(fd)
})

test('a line that stays alone is written soon, without being asked for', async (t) => {
  const { reading, writing } = pipe(t)
  new LineWriter(writing).write('alone\n')
  const taken = await until('the line is written', () => take(reading))
  assert.equal(taken, 'alone\n')
  closeSync(reading)
})

test('a reader that pauses gets the rest when it goes on', async (t) => {
  const { reading, writing } = pipe(t)
  const lines = new LineWriter(writing)
  let expected = ''
  for (let index = 0; index < 2000; index++) {
    lines.write(lineOf(index))
    expected += lineOf(index)
  }
  const isWhole = (_: string, length: number) => length >= expected.length
  assert.equal(await takeUntil('the rest is written', reading, isWhole), expected)
  closeSync(reading)
})

test('a reader that has gone, or takes nothing, does not keep the writer from ending', async (t) => {
  const gone = pipe(t)
  const lines = new LineWriter(gone.writing)
  lines.write('before\n')
  closeSync(gone.reading)
  lines.write('after\n')
  await lines.close()

  const stalled = pipe(t)
  const more = new LineWriter(stalled.writing, asItIs, PAUSE_MS)
  for (let index = 0; index < 2000; index++) more.write(lineOf(index))
  await more.close()
  assert.match(take(stalled.reading), /^{"index":0,/)
  closeSync(stalled.reading)
})

test('what a stalled reader costs is bounded, and told when it goes on', async (t) => {
  const { reading, writing } = pipe(t)
  const lines = new LineWriter(writing, asItIs, PAUSE_MS)
  const long = `${'x'.repeat(1024 * 1024)}\n`
  for (let index = 0; index < 30; index++) lines.write(long)
  const isTold = (last: string) => last.endsWith('enough"}\n')
  const taken = await takeUntil('it is told that lines were lost', reading, isTold)
  assert.match(
    taken.slice(-200),
    /{"level":40,"msg":"1\d log lines were lost: the log was not read fast enough"}/,
  )
  closeSync(reading)
})
