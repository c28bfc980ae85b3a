/** Bytes are not those that were written. `offset` counts the bytes of the tar. */
export class ArchiveDamaged extends Error {
  override name = 'ArchiveDamaged'
  readonly offset: number

  constructor(what: string, offset: number, options?: ErrorOptions) {
    super(`the archive is damaged at byte ${offset} of its tar: ${what}`, options)
    this.offset = offset
  }
}

/** A file in good order, of a form that is not read here; the message says which. */
export class ArchiveNotSupported extends Error {
  override name = 'ArchiveNotSupported'

  constructor(what: string) {
    super(`the archive is not supported: ${what}`)
  }
}

/** The archive is readable and must not be unpacked. */
export class ArchiveRefused extends Error {
  override name = 'ArchiveRefused'

  constructor(reason: string) {
    super(`the archive is refused: ${reason}`)
  }
}
