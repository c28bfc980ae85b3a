/** Ends a request whose answer, or the next piece of it, does not come. */
export class Patience {
  readonly signal: AbortSignal
  readonly #late = new AbortController()
  readonly #timeoutMs: number
  #timer: NodeJS.Timeout

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.signal = AbortSignal.any([outer, this.#late.signal])
    this.#timer = this.#start()
  }

  renew = () => {
    clearTimeout(this.#timer)
    this.#timer = this.#start()
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #start(): NodeJS.Timeout {
    return setTimeout(
      () => this.#late.abort(new DOMException('no answer in time', 'TimeoutError')),
      this.#timeoutMs,
    )
  }
}
