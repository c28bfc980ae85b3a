/** Ends a request whose answer, or the next piece of it, does not come, or whose asker has gone. */
export class AnswerTimeout {
  readonly #end = new AbortController()
  readonly #timeoutMs: number
  readonly #outer: AbortSignal
  #timer: NodeJS.Timeout

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.#outer = outer
    this.#timer = this.#start()
    // Not a signal made of two: a reading lasts for hours, and every request would leave something behind with it.
    outer.addEventListener('abort', this.#follow, { once: true })
    if (outer.aborted) this.#follow()
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  renew = () => {
    clearTimeout(this.#timer)
    this.#timer = this.#start()
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#follow)
  }

  readonly #follow = () => this.#end.abort(this.#outer.reason)

  #start(): NodeJS.Timeout {
    return setTimeout(
      () => this.#end.abort(new DOMException('no answer in time', 'TimeoutError')),
      this.#timeoutMs,
    )
  }
}
