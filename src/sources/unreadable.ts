/** The repository is there and cannot be read; `message` is fit for a user to see. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}

/** Nothing is there, and that is certain. */
export class Gone extends Unreadable {}

/** Others are at work on it: the same may go well later. */
export class Busy extends Unreadable {}
