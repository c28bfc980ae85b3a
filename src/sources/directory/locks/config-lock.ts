import { setTimeout as pause } from 'node:timers/promises'
import { Busy } from '../../unreadable.ts'
import { exactLstatIfThere } from './abandoned-edits.ts'

const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 250
/** Each time another has changed the config meanwhile, or had it at the same moment. */
const MAX_TRIES = 500
const MAX_LATE_ANSWERS = 8

export interface LockTimeouts {
  /** With one and the same `config.lock`. */
  holderMs: number
  /** For the first answer while the config is held, since others cannot edit it meanwhile; later ones are given longer. */
  answerMs: number
  /** Shorter than others wait for one holder. */
  longestAnswerMs: number
}

const USUAL: LockTimeouts = { holderMs: 10_000, answerMs: 2000, longestAnswerMs: 8000 }

/**
 * When one who wants to edit a config tries again, and when no more. A slow machine gets more time: what is given up on is a
 * `config.lock` that stays the same file, not an edit that others were faster than.
 */
export class ConfigLock {
  readonly #lock: string
  readonly #timeouts: LockTimeouts
  #tries = 0
  #lateAnswers = 0
  #holder: string | undefined
  #heldSince = 0

  constructor(lock: string, timeouts: Partial<LockTimeouts>) {
    this.#lock = lock
    this.#timeouts = { ...USUAL, ...timeouts }
  }

  async waitForNext(): Promise<void> {
    const holder = await this.#whoHolds()
    const now = performance.now()
    if (holder === undefined || holder !== this.#holder) this.#heldSince = now
    else if (now - this.#heldSince > this.#timeouts.holderMs)
      throw new Busy('its config cannot be changed: another program holds config.lock')
    this.#holder = holder
    if (++this.#tries === MAX_TRIES)
      throw new Busy('its config cannot be changed: other programs keep changing it')
    const wait = Math.min(FIRST_WAIT_MS * 2 ** this.#tries, LONGEST_WAIT_MS)
    await pause(wait * (0.5 + Math.random()))
  }

  /** Undefined where it has not come in time: then the config is let go of, and the question asked again later. */
  async answerOf(answer: Promise<boolean>): Promise<boolean | undefined> {
    const { answerMs, longestAnswerMs } = this.#timeouts
    const ended = new AbortController()
    const late = async () => {
      const ms = Math.min(answerMs * 2 ** this.#lateAnswers, longestAnswerMs)
      await pause(ms, undefined, { signal: ended.signal })
      if (++this.#lateAnswers === MAX_LATE_ANSWERS)
        throw new Busy('the state of its lock could not be read in time')
      return undefined
    }
    try {
      return await Promise.race([answer, late()])
    } finally {
      ended.abort()
    }
  }

  /** Two who hold it one after the other are not the same, even where the file system gives their files one number. */
  async #whoHolds(): Promise<string | undefined> {
    const held = await exactLstatIfThere(this.#lock)
    return held && `${held.ino} ${held.ctimeNs}`
  }
}
