import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../ground/errno.ts'

export interface LineWriter {
  write(line: string): void
  /** Writes what is left, and waits for nobody who does not take it. */
  close(): Promise<void>
  /** For the very end of a process, when nothing can be waited for any more. */
  writeLast(): void
}

const GATHERED_CHARACTERS = 64 * 1024
const GATHERED_MS = 100
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024
const PAUSE_MS = 20
const LAST_TRIES = 50

/**
 * Lines to a file, a pipe or a terminal, gathered into larger writes that nobody waits for. A reader that has gone away, or
 * takes nothing, costs lines: it must neither keep the process that writes them from ending nor fill its memory.
 */
export function writeLines(fd: number): LineWriter {
  let gathered = ''
  let lost = 0
  let writing: Promise<void> | undefined
  let due: NodeJS.Timeout | undefined
  let triesLeft = Number.POSITIVE_INFINITY

  function writeGathered(): void {
    clearTimeout(due)
    due = undefined
    writing ??= writeWhileMuch()
  }

  async function writeWhileMuch(): Promise<void> {
    do {
      const bytes = Buffer.from(gathered)
      gathered = ''
      await writeWhole(bytes)
      if (lost > 0) gathered += `{"level":40,"msg":"${lost} lines were lost: nobody took them"}\n`
      lost = 0
    } while (gathered.length >= GATHERED_CHARACTERS)
    writing = undefined
    if (gathered !== '') writeSoon()
  }

  function writeSoon(): void {
    due ??= setTimeout(writeGathered, GATHERED_MS).unref()
  }

  async function writeWhole(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0 && triesLeft > 0; ) {
      try {
        rest = rest.subarray(await writeSome(fd, rest))
      } catch (error) {
        if (!hasCode(error, 'EAGAIN')) return
        triesLeft--
        await sleep(PAUSE_MS)
      }
    }
  }

  return {
    write(line) {
      if (gathered.length + line.length > MAX_WAITING_CHARACTERS) {
        lost++
        return
      }
      gathered += line
      if (gathered.length >= GATHERED_CHARACTERS) writeGathered()
      else writeSoon()
    },

    async close() {
      triesLeft = LAST_TRIES
      await writing
      if (gathered !== '') writeGathered()
      await writing
    },

    writeLast() {
      try {
        writeSync(fd, gathered)
      } catch {
        // Nobody takes it.
      }
      gathered = ''
    },
  }
}

function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) =>
    write(fd, bytes, (error, count) => (error ? reject(error) : resolve(count))),
  )
}
