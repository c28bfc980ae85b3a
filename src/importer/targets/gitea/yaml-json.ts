import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { addDiskFacts } from '../../../lib/disk-errors.ts'

/** Line ends and controls that YAML has and JSON does not; a byte order mark is no text there. */
const OTHERWISE_IN_YAML = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
const NO_TEXT = /\\u(?:d[89ab][0-9a-f]{2}|0000)/i

/**
 * JSON that every reader of YAML takes for the same value. Halves of a character are no text to it, and a zero byte is none
 * to PostgreSQL: both become the sign for what could not be read.
 */
export function yamlJson(value: unknown): string {
  const json = JSON.stringify(value)
  const text = NO_TEXT.test(json) ? JSON.stringify(value, readable) : json
  return text.replace(
    OTHERWISE_IN_YAML,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function readable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\u0000', '\ufffd') : value
}

/** RFC 3339 in UTC, as Go reads it. */
export function yamlTime(text: string): string {
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new Error(`it has the time ${JSON.stringify(text)}, which is none`)
  return new Date(at).toISOString().replace('.000Z', 'Z')
}

const BUFFERED = 64 * 1024

export interface YamlList {
  add(value: unknown): void
  /** Nothing that was not closed is whole. */
  close(): void
}

/** A file with one value on each line. It is made with the first: where there are none, the server wants no file. */
export function yamlList(path: string): YamlList {
  let file: number | undefined
  let text = ''
  const write = () => {
    writeAll(file!, path, text)
    text = ''
  }
  return {
    add(value) {
      if (file === undefined) {
        mkdirSync(dirname(path), { recursive: true })
        file = openSync(path, 'wx')
        text = '[\n'
      } else text += ',\n'
      text += yamlJson(value)
      if (text.length > BUFFERED) write()
    },
    close() {
      if (file === undefined) return
      text += '\n]\n'
      write()
      closeSync(file)
      file = undefined
    },
  }
}

function writeAll(file: number, path: string, text: string): void {
  const bytes = Buffer.from(text)
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
  } catch (error) {
    throw addDiskFacts(error, path)
  }
}
