/** The repository cannot be read. A user may see the message. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}

/** The repository certainly does not exist. */
export class Gone extends Unreadable {}

/** Other programs are changing the repository: a retry may succeed. */
export class Busy extends Unreadable {}
