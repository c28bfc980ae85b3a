/** The archive cannot be read. The message says why. */
export class UnreadableArchive extends Error {}

/** The archive is corrupt or truncated. `offset` is the position in the tar; undefined if there is no tar. */
export class ArchiveDamaged extends UnreadableArchive {
  override name = 'ArchiveDamaged'

  constructor(what: string, offset?: number, options?: ErrorOptions) {
    const at = offset === undefined ? '' : ` at byte ${offset} of its tar`
    super(`the archive is damaged${at}: ${what}`, options)
  }
}

/** The file is intact, but has a type or feature that is not supported. */
export class ArchiveNotSupported extends UnreadableArchive {
  override name = 'ArchiveNotSupported'

  constructor(what: string) {
    super(`the archive is not supported: ${what}`)
  }
}

/** The archive is intact, but unsafe to unpack. */
export class ArchiveRefused extends UnreadableArchive {
  override name = 'ArchiveRefused'

  constructor(reason: string) {
    super(`the archive is refused: ${reason}`)
  }
}
