import type { Identity, Refusal } from '../../../accounts/identity-store.ts'

/** Secrets of one sign-in, by which the response of the provider is verified. Only the browser that began the sign-in has them. */
export type Checks = { state: string; nonce: string; verifier: string }

/** A client of an OpenID provider. Every function rejects with SignInFailed. */
export interface OidcClient {
  /** Returns the address to send the browser to. */
  start(): Promise<{ url: string; checks: Checks }>
  /** Verifies the response of the provider: the query of the address with which the browser comes back. */
  finish(query: string, checks: Checks): Promise<Identity>
  /** Returns the address at which the browser signs out of the provider; undefined if there is none. */
  signOutUrl(): Promise<string | undefined>
}

/** Why a sign-in failed. The dashboard has a text for each. */
type Problem = Refusal | 'unavailable' | 'refused' | 'expired' | 'not-allowed' | 'no-login'

export class SignInFailed extends Error {
  override name = 'SignInFailed'
  readonly problem: Problem
  /** Who tried to sign in, for the audit log. */
  readonly who: { issuer?: string | undefined; identity?: string | undefined; as?: string }

  constructor(problem: Problem, message: string = problem, who: SignInFailed['who'] = {}) {
    super(message)
    this.problem = problem
    this.who = who
  }
}
