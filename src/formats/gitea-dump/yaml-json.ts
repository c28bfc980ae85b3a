import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { addDiskFacts } from '../../lib/disk-errors.ts'

/** Characters that JSON does not escape and YAML does not allow, or takes for line breaks or a byte order mark. */
const NOT_IN_YAML = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
const SURROGATE_OR_ZERO = /\\u(?:d[89a-f][0-9a-f]{2}|0000)/i

/** Returns JSON that every YAML parser reads as the same value. */
export const yamlJson = (value: unknown): string =>
  storableJson(value).replace(
    NOT_IN_YAML,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Returns JSON with U+FFFD for zero bytes, which PostgreSQL cannot store, and for lone surrogates, which YAML does not allow either. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!SURROGATE_OR_ZERO.test(json)) return json
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'string' ? each.toWellFormed().replaceAll('\u0000', '\ufffd') : each,
  )
}

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
  #file: number | undefined
  #text = ''

  constructor(path: string) {
    this.#path = path
  }

  add(value: unknown): void {
    if (this.#file === undefined) {
      mkdirSync(dirname(this.#path), { recursive: true })
      this.#file = openSync(this.#path, 'wx')
      this.#text = '[\n'
    } else this.#text += ',\n'
    this.#text += yamlJson(value)
    if (this.#text.length > BUFFER_LENGTH) this.#write(this.#file)
  }

  /** Completes the file. Without this call it is invalid. */
  close(): void {
    if (this.#file === undefined) return
    this.#text += '\n]\n'
    this.#write(this.#file)
    closeSync(this.#file)
    this.#file = undefined
  }

  [Symbol.dispose] = () => this.close()

  #write(file: number): void {
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
    } catch (error) {
      closeSync(file)
      this.#file = undefined
      throw addDiskFacts(error, this.#path)
    }
  }
}
