import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { addDiskDetails } from '@godwit/lib/disk-errors'
import { storableJson } from '../storable-json.ts'

/** Characters that JSON does not escape and YAML does not allow, or takes for line breaks or a byte order mark. */
const NOT_IN_YAML = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

/** Returns JSON that every YAML parser reads as the same value. */
export const yamlJson = (value: unknown): string =>
  storableJson(value).replace(
    NOT_IN_YAML,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Returns a time in UTC in the format of RFC 3339, which Go parses. */
export function yamlTime(text: string): string {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new Error(`invalid time ${JSON.stringify(text)}`)
  return new Date(time).toISOString().replace('.000Z', 'Z')
}

export const yamlTimeOrNull = (text: string | null): string | null =>
  text === null ? null : yamlTime(text)

const BUFFER_LENGTH = 64 * 1024

/** Writes a list to a file, one value per line. For an empty list no file is created, because the server expects none. */
export class YamlList {
  readonly #path: string
  #isBegun = false
  #text = ''

  constructor(path: string) {
    this.#path = path
  }

  add(value: unknown): void {
    this.#text += (this.#isBegun ? ',\n' : '[\n') + yamlJson(value)
    this.#isBegun = true
    if (this.#text.length > BUFFER_LENGTH) this.#write()
  }

  /** Completes the file. Without this call it is invalid. */
  close(): void {
    if (!this.#isBegun) return
    this.#isBegun = false
    this.#text += '\n]\n'
    this.#write()
  }

  [Symbol.dispose] = () => this.close()

  #write(): void {
    const text = this.#text
    this.#text = ''
    try {
      mkdirSync(dirname(this.#path), { recursive: true })
      appendFileSync(this.#path, text)
    } catch (error) {
      this.#isBegun = false
      throw addDiskDetails(error, this.#path)
    }
  }
}
