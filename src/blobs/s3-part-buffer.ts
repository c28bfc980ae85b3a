import type { PutOptions } from './blob-store.ts'

/**
 * Memory for parts, used again and again: parts that are made anew for every send are garbage that grows by tens of
 * megabytes before anybody collects it. Whoever asks for more than there is waits until something was given back, so the
 * room is all that is ever held, but for a single part that is larger than that.
 */
export class PartBuffer {
  readonly #max: number
  readonly #kept: Buffer[] = []
  #taken = 0
  readonly #waiting = new Set<() => void>()

  constructor(max: number) {
    this.#max = max
  }

  async take(size: number, signal?: AbortSignal): Promise<Buffer> {
    while (this.#taken > 0 && this.#taken + size > this.#max) await this.#turn(signal)
    this.#taken += size
    const fitting = this.#kept.findIndex(({ length }) => length === size)
    if (fitting >= 0) return this.#kept.splice(fitting, 1)[0]!
    // What is kept in another size makes way.
    this.#kept.length = 0
    return Buffer.allocUnsafeSlow(size)
  }

  giveBack(part: Buffer): void {
    this.#taken -= part.length
    if (part.length <= this.#max) this.#kept.push(part)
    for (const wake of this.#waiting) wake()
  }

  /** Until something was given back. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    this.#waiting.add(wake)
    signal?.addEventListener('abort', wake)
    await promise
    signal?.removeEventListener('abort', wake)
    this.#waiting.delete(wake)
    signal?.throwIfAborted()
  }
}

/** All that the uploads of one thread hold, whatever they are of: two of the smallest parts that servers take. */
export const PART_BUFFER = new PartBuffer(10 * 1024 * 1024)
/** As much for what comes from a host that may be slow: whoever waits for it holds up nobody else. */
const SLOW_ROOM = new PartBuffer(10 * 1024 * 1024)

export const partBufferFor = ({ isSlow = false }: PutOptions): PartBuffer =>
  isSlow ? SLOW_ROOM : PART_BUFFER
