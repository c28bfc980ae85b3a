import { promisify } from 'node:util'
import { constants, deflateRaw } from 'node:zlib'

const deflate = promisify(deflateRaw)

/** Gathers text and deflates it, ended by a full flush: nothing after it refers to bytes in it. */
export class DeflatedPiece {
  readonly max: number
  length = 0
  readonly #plain: Buffer

  constructor(max: number) {
    this.max = max
    this.#plain = Buffer.allocUnsafeSlow(max)
  }

  /** Takes what there is room for, and answers how many bytes that was. */
  add(plain: Uint8Array): number {
    const taken = Math.min(plain.length, this.max - this.length)
    this.#plain.set(plain.subarray(0, taken), this.length)
    this.length += taken
    return taken
  }

  async finish(): Promise<Uint8Array> {
    const plain = this.#plain.subarray(0, this.length)
    this.length = 0
    return deflate(plain, { finishFlush: constants.Z_FULL_FLUSH, chunkSize: 256 * 1024 })
  }
}
