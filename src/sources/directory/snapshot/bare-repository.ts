export type ObjectFormat = 'sha1' | 'sha256'

export interface BareRepository {
  dir: string
  /** How it is called in a message to its user. */
  name: string
  objectFormat: ObjectFormat
}
