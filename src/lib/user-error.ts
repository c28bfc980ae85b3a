import { EXIT } from './exit-codes.ts'

/** What the person at the keyboard can do something about: said in a line, without a stack. */
export class UserError extends Error {
  override name = 'UserError'
  readonly exitCode: number = EXIT.failed
}

/** Asked for in a way that cannot be; nothing was done. */
export class UsageError extends UserError {
  override readonly exitCode: number = EXIT.misused
}

/** Everything that is wrong with the configuration, at once. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
