/** Exit codes of commands, for scripts. docs/COMMANDS.md has the same table. */
export const EXIT = {
  done: 0,
  failed: 1,
  misused: 2,
  refused: 3,
  unreachable: 4,
  partial: 5,
} as const

export const exitCodes: readonly [code: string, meaning: string][] = Object.entries({
  0: 'success; for `watch`, the migration is exported',
  1: 'failure: an archive is damaged, a migration failed, or a file cannot be read or written',
  2: 'usage error: a command, an option or a setting is wrong; nothing was changed',
  3: 'the server refused the request: invalid token, invalid request, or no such migration',
  4: 'the server cannot be reached, is temporarily unavailable or limits requests: try again later',
  5: 'the export is partial: for `watch` and `download`, the archive lacks skipped repositories or LFS objects',
  '128+N':
    'stopped by signal N: 130 after Ctrl-C; no unfinished files are left, except the `.part` file that the next download resumes',
})

/** An error that the user can fix. It is printed as one line, without a stack. */
export class UserError extends Error {
  override name = 'UserError'
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options)
    this.exitCode = options.exitCode ?? EXIT.failed
  }
}

/** A wrong command, option or setting. Nothing was done. */
export class UsageError extends UserError {
  override readonly exitCode: number = EXIT.misused
}

/** All mistakes in the configuration. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
