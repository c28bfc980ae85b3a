/** The repository cannot be read. The message can be shown to users. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}

/** The repository certainly does not exist. */
export class Gone extends Unreadable {}

/** Another program is changing the repository. A retry may succeed. */
export class Busy extends Unreadable {}
