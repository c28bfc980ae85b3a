/** Everything that is wrong with the configuration, at once. */
export class ConfigMistakes extends Error {
  override name = 'ConfigMistakes'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.mistakes = mistakes
  }
}
