/** The repository cannot be read. The message can be shown to users. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}

/** The repository certainly does not exist. */
export class RepositoryNotFound extends Unreadable {}

/** Another program is changing the repository. A retry may succeed. */
export class RepositoryBusy extends Unreadable {}
