import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists } from '@godwit/lib/errno'
import {
  anyObject,
  isObject as isJson,
  type JsonObject as Json,
  measureJson,
} from '@godwit/lib/json-shape'
import { toIsoTime } from '@godwit/lib/parse-time'
import { ArchiveRefused } from '../../tar/unreadable-archive.ts'
import type { Report } from '../format.ts'
import { MAX_JSON_BYTES } from './constants.ts'

/** GitLab nests records about ten levels deep. The limit keeps a hostile line from exhausting the memory. */
const MAX_DEPTH = 100

/** The project of an export and its relations, such as `issues`. */
export interface Relations {
  project: Json
  /** The relations that are not empty. */
  names: readonly string[]
  /**
   * Yields the records of a relation, and where each is, for messages. One record is in memory at a time, except in old exports. An invalid
   * one is reported as lost, or passed to `onInvalid`.
   */
  records(
    relation: string,
    signal: AbortSignal,
    onInvalid?: (why: string) => void,
  ): AsyncIterable<{ at: string; record: Json }>
}

const TREE = 'tree/project'

/** Opens the relations of an unpacked export: lines of JSON since GitLab 12.10, before that one file. Throws ArchiveRefused. */
export async function openRelations(root: string, report: Report): Promise<Relations> {
  const project = await readObject(root, `${TREE}.json`)
  if (!project) return legacyRelations((await readObject(root, 'project.json')) ?? {}, report)
  const files = (await ifExists(readdir(join(root, TREE)), 'ENOENT')) ?? []
  const names: string[] = []
  for (const file of files.sort()) {
    const [, name] = /^(\w+)\.ndjson$/.exec(file) ?? []
    if (name !== undefined && (await stat(join(root, TREE, file))).size > 0) names.push(name)
  }
  async function* records(
    relation: string,
    signal: AbortSignal,
    onInvalid = (why: string) => report.addSkippedRecord(relation, why),
  ) {
    if (!names.includes(relation)) return
    const file = `${TREE}/${relation}.ndjson`
    for await (const { number, line } of linesOf(root, file, signal)) {
      const at = `${file}: line ${number}`
      try {
        const value = parse(line)
        // GitLab writes the word `null` for a relation without a record.
        if (value !== null) yield { at, record: anyObject(value, '') }
      } catch (error) {
        onInvalid(`${at}: ${(error as Error).message}`)
      }
    }
  }
  return { project, names, records }
}

function legacyRelations(project: Json, report: Report): Relations {
  const list = (relation: string) => {
    const value = project[relation] ?? []
    return Array.isArray(value) ? value : [value]
  }
  const isRelation = (name: string) =>
    !['topics', 'tag_list'].includes(name) &&
    typeof project[name] === 'object' &&
    list(name).length > 0
  return {
    project,
    names: Object.keys(project).filter(isRelation),
    async *records(relation, signal, onInvalid = (why) => report.addSkippedRecord(relation, why)) {
      for (const [index, record] of list(relation).entries()) {
        signal.throwIfAborted()
        const at = `project.json: ${relation}[${index}]`
        if (isJson(record)) yield { at, record }
        else onInvalid(`${at} is not an object`)
      }
    },
  }
}

async function readObject(root: string, path: string): Promise<Json | undefined> {
  const file = join(root, path)
  const stats = await ifExists(stat(file), 'ENOENT')
  if (!stats) return undefined
  if (stats.size > MAX_JSON_BYTES) throw tooLong(path)
  try {
    return anyObject(parse(await readFile(file)), '')
  } catch (error) {
    throw new ArchiveRefused(`${path}: ${(error as Error).message}`)
  }
}

const tooLong = (what: string) =>
  new ArchiveRefused(
    `${what} has more than ${MAX_JSON_BYTES} bytes, which GitLab cannot read either`,
  )

const NEWLINE = 0x0a

/** Yields the lines of a file that are not empty. Throws ArchiveRefused if one is too long. */
async function* linesOf(root: string, path: string, signal: AbortSignal) {
  let pieces: Buffer[] = []
  let length = 0
  let number = 0
  const add = (piece: Buffer) => {
    length += piece.length
    if (length > MAX_JSON_BYTES) throw tooLong(`${path}: line ${number + 1}`)
    pieces.push(piece)
  }
  const take = () => {
    const line = Buffer.concat(pieces)
    pieces = []
    length = 0
    number += 1
    return { number, line }
  }
  const stream = createReadStream(join(root, path), { highWaterMark: 256 * 1024, signal })
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end))
      start = end + 1
      if (length > 0) yield take()
      else number += 1
    }
    add(chunk.subarray(start))
  }
  if (length > 0) yield take()
}

function parse(json: Buffer): unknown {
  if (measureJson(json).depth > MAX_DEPTH)
    throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`)
  return JSON.parse(json.toString('utf8'))
}

export { isJson, type Json }

// These return an empty value if a field is missing or has another type.
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
export const child = (value: unknown): Json => (isJson(value) ? value : {})

export const timeOrNull = (value: unknown): string | null => toIsoTime(text(value)) ?? null

/** Returns null unless the value is a day such as `2024-06-01`. */
export const dayOrNull = (value: unknown): string | null =>
  // A day that does not exist, such as February 30, is parsed as a later one.
  timeOrNull(value)?.slice(0, 10) === text(value) ? text(value) : null

export const integerOrNull = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null

/** Returns a field of a record. Throws an error that names the field if it is not a time. */
export const time = (record: Json, key: string): string =>
  timeOrNull(record[key]) ?? throwInvalid(record, key, 'a valid time')

/** Returns a field of a record. Throws an error that names the field if it is not a positive integer. */
export const integer = (record: Json, key: string): number =>
  integerOrNull(record[key]) ?? throwInvalid(record, key, 'a positive integer')

function throwInvalid(record: Json, key: string, expected: string): never {
  throw new Error(`${key} is not ${expected}: ${JSON.stringify(record[key])?.slice(0, 100)}`)
}

/** Returns the action of a system note, such as `closed`, or ''. */
export const actionOf = (note: Json): string =>
  note.system === true ? text(child(note.system_note_metadata).action) : ''

/** Joins the texts that are not empty. */
export const paragraphs = (...texts: (string | null)[]): string =>
  texts.filter(Boolean).join('\n\n')
