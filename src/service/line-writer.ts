import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../lib/errno.ts'

const GATHERED_CHARACTERS = 64 * 1024
const GATHERED_MS = 100
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024
const PAUSE_MS = 20
const LAST_TRIES = 50

/**
 * Lines to a file, a pipe or a terminal, gathered into larger writes that nobody waits for. A reader that has gone away, or
 * takes nothing, costs lines: it must neither keep the process that writes them from ending nor fill its memory.
 */
export class LineWriter {
  readonly #fd: number
  readonly #render: (line: string) => string
  readonly #pauseMs: number
  #gathered = ''
  #lost = 0
  #writing: Promise<void> | undefined
  #due: NodeJS.Timeout | undefined
  #triesLeft = Number.POSITIVE_INFINITY

  /** `render` makes of each line what is written; `pauseMs` is waited for a reader that takes nothing. */
  constructor(fd: number, render = (line: string) => line, pauseMs = PAUSE_MS) {
    this.#fd = fd
    this.#render = render
    this.#pauseMs = pauseMs
  }

  write(given: string): void {
    const line = this.#render(given)
    if (this.#gathered.length + line.length > MAX_WAITING_CHARACTERS) {
      this.#lost++
      return
    }
    this.#gathered += line
    if (this.#gathered.length >= GATHERED_CHARACTERS) this.#writeGathered()
    else this.#writeSoon()
  }

  /** Writes what is left, and waits for nobody who does not take it. */
  async close(): Promise<void> {
    this.#triesLeft = LAST_TRIES
    await this.#writing
    if (this.#gathered !== '') this.#writeGathered()
    await this.#writing
  }

  /** For the very end of a process, when nothing can be waited for any more. */
  writeLast(): void {
    try {
      writeSync(this.#fd, this.#gathered)
    } catch {
      // Nobody takes it.
    }
    this.#gathered = ''
  }

  #writeSoon(): void {
    this.#due ??= setTimeout(() => this.#writeGathered(), GATHERED_MS).unref()
  }

  #writeGathered(): void {
    clearTimeout(this.#due)
    this.#due = undefined
    this.#writing ??= this.#writeWhileMuch()
  }

  async #writeWhileMuch(): Promise<void> {
    do {
      const bytes = Buffer.from(this.#gathered)
      this.#gathered = ''
      await this.#writeWhole(bytes)
      if (this.#lost > 0) this.#gathered += this.#render(linesLost(this.#lost))
      this.#lost = 0
    } while (this.#gathered.length >= GATHERED_CHARACTERS)
    this.#writing = undefined
    if (this.#gathered !== '') this.#writeSoon()
  }

  async #writeWhole(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0 && this.#triesLeft > 0; ) {
      try {
        rest = rest.subarray(await writeSome(this.#fd, rest))
      } catch (error) {
        if (!hasCode(error, 'EAGAIN')) return
        this.#triesLeft--
        await sleep(this.#pauseMs)
      }
    }
  }
}

const linesLost = (count: number) =>
  `{"level":40,"msg":"${count} log lines were lost: the log was not read fast enough"}\n`

function writeSome(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) =>
    write(fd, bytes, (error, count) => (error ? reject(error) : resolve(count))),
  )
}
