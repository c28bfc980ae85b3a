/** A server of this API, as its address and a token make it known. */
export interface Server {
  /** Where the API begins, without a slash at the end. */
  url: string
  token: string
  /** Whose migrations it is about, where they are not the caller's own. */
  org?: string | undefined
  /** The word in its media types. */
  vendor: string
  /** How we call ourselves. */
  userAgent: string
}

export interface RequestOptions {
  /** Ends whatever is under way. */
  signal: AbortSignal
  /** Told before a pause that the server asked for. */
  onWait(seconds: number): void
}
