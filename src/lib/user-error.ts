import { EXIT } from './exit-codes.ts'

/** An error that the user can fix. It is printed as one line, without a stack. */
export class UserError extends Error {
  override name = 'UserError'
  readonly exitCode: number = EXIT.failed
}

/** A wrong command, option or setting. Nothing was done. */
export class UsageError extends UserError {
  override readonly exitCode: number = EXIT.misused
}

/** All mistakes of the configuration. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
