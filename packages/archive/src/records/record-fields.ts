import * as json from '@godwit/lib/json-shape'
import { toIsoTime } from '@godwit/lib/parse-time'
import { type Author, type TeamName, UNKNOWN_TIME } from './record.ts'
import * as link from './record-urls.ts'
import { type RecordUrls, urlInArchive } from './record-urls.ts'

/** Reads a value of a GitHub record. Without `write`, the value is written as it is. */
export interface Codec<T> extends json.Shape<T> {
  /** Returns the value for the GitHub record. `record` is the record that the value is in. */
  write?(value: T, urls: RecordUrls, record: never): unknown
}

export const codec = <T>(read: json.Shape<T>, write: Codec<NoInfer<T>>['write']): Codec<T> =>
  Object.assign((value: unknown, at: string) => read(value, at), write && { write })

export const writeWith = <T>({ write }: Codec<T>, value: T, urls: RecordUrls, record: unknown) =>
  write ? write(value, urls, record as never) : value

/** Accepts an absent or null field and returns `otherwise` for it. */
export const withDefault =
  <T, const D>(shape: json.Shape<T>, otherwise: D): json.Shape<T | D> =>
  (value, at) =>
    value == null ? otherwise : shape(value, at)

/** Accepts an absent or null field and returns undefined for it. */
export const optional = <T>(item: Codec<T>): Codec<T | undefined> =>
  codec<T | undefined>(withDefault(item, undefined), item.write)

/** Accepts an absent field and returns undefined for it. Null is passed to the codec. */
export const ifPresent = <T>(item: Codec<T>): Codec<T | undefined> =>
  codec<T | undefined>(
    (value, at) => (value === undefined ? undefined : item(value, at)),
    item.write,
  )

/** Accepts a missing link as null. Some exporters write an empty string instead of null. */
export const orNull = <T>(item: Codec<T>): Codec<T | null> =>
  codec(link.orNull(item), (value, urls, record) =>
    value === null ? null : writeWith(item, value, urls, record),
  )

export const list = <T>(item: Codec<T>): Codec<readonly T[]> =>
  codec<readonly T[]>(json.list(item), (values, urls, record) =>
    values.map((value) => writeWith(item, value, urls, record)),
  )

/** Accepts an absent or null list and returns an empty one for it. */
export const listOrEmpty = <T>(item: Codec<T>): Codec<readonly T[]> =>
  codec(withDefault(list(item), []), list(item).write)

export const string = json.text('a string', () => true)
export const url = json.text('a URL', (value) => URL.canParse(value))
const isSha = (value: unknown): value is string =>
  typeof value === 'string' && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)
export const sha = json.text('the SHA of a commit', isSha)
/** Accepts anything else than a SHA as null: not every exporter knows all commits. */
export const shaOrNull: json.Shape<string | null> = (value) => (isSha(value) ? value : null)
export const shaOrEmpty: json.Shape<string> = (value) => (isSha(value) ? value : '')
export const boolean: json.Shape<boolean> = json.oneOf(true, false)
export const stringOrNull = withDefault(string, null)
export const booleanOrFalse = withDefault(boolean, false)
export const countOrNull = withDefault(json.count(), null)
export const time = json.parsed('a valid time', toIsoTime)
export const timeOrNull = withDefault(time, null)
/** For times without which a record is still of use. */
export const timeOr =
  <const D>(otherwise: D): json.Shape<string | D> =>
  (value) =>
    (typeof value === 'string' ? toIsoTime(value) : undefined) ?? otherwise
export const timeOrUnknown = timeOr(UNKNOWN_TIME)

const personUrl = (login: Author, urls: RecordUrls) => urls.person(login)
export const person = codec(link.login, personUrl)
export const personOrNull = codec(link.loginOrNull, personUrl)
export const team = codec(link.team, (team: TeamName, urls) => urls.team(team))
export const repository = codec(link.repositoryName, (name, urls) => urls.repository(name))
/** The path of a file or folder in the archive. */
export const storedPath = codec(link.storedPath, urlInArchive)

/** Validates a field of a GitHub record and returns its value. */
export type FieldReader = <T>(key: string, shape: json.Shape<T>) => T

/** A field that has another name in the record. */
export interface Named<N extends string, T> {
  name: N
  codec: Codec<T>
}

export const named = <const N extends string, T>(
  name: N,
  item: Codec<T>,
  write: Codec<NoInfer<T>>['write'] = item.write,
): Named<N, T> => ({ name, codec: codec(item, write) })

/** A field that is not read. */
export interface Written {
  /** `parent` is the record that the record is in. */
  value(record: never, urls: RecordUrls, parent: never): unknown
}

export const written = <F = unknown, P = unknown>(
  value: (record: F, urls: RecordUrls, parent: P) => unknown,
): Written => ({ value })

/** A field that has the same value in every GitHub record and is not read. */
export const constant = (value: unknown) => written(() => value)

/** Several fields of a GitHub record or of the record, which only together have a meaning. */
export interface Part<F extends object> {
  read(read: FieldReader, key: string, record: Partial<F>): F
  /** Returns fields of the GitHub record. */
  write(record: never, urls: RecordUrls, key: string): object
}

export const author = named('author', personOrNull)

/** The time of the last change, or of the creation if the exporter does not write it. */
export const updatedAt: Part<{ updatedAt: string }> = {
  read: (read, key) => ({
    updatedAt: read(key, timeOr(read('created_at', timeOrUnknown))),
  }),
  write: ({ updatedAt }: { updatedAt: string }, _urls, key) => ({ [key]: updatedAt }),
}

/** The fields of a GitHub record. A field without a name of its own has its name in camel case in the record. */
type Fields = Record<string, Codec<unknown> | Named<string, unknown> | Written | Part<object>>

type CamelCase<S> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<CamelCase<B>>}` : S

type PartOf<Key, Field> =
  Field extends json.Shape<infer T>
    ? { [K in CamelCase<Key> & string]: T }
    : Field extends Named<infer N, infer T>
      ? { [K in N]: T }
      : Field extends Part<infer F>
        ? F
        : object

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer I,
) => void
  ? I
  : never

type OptionalIfUndefined<F> = { [K in keyof F as undefined extends F[K] ? never : K]: F[K] } & {
  [K in keyof F as undefined extends F[K] ? K : never]?: F[K]
}

export type RecordOf<T extends Fields> = OptionalIfUndefined<
  Intersection<{ [K in keyof T]: PartOf<K, T[K]> }[keyof T]>
>

/** Returns the format of GitHub records with these fields, in the order in which they are written. Other fields are ignored. */
export function recordFormat<T extends Fields>(fields: T) {
  const all = Object.entries(fields).map(([key, each]) => ({
    key,
    ...(typeof each === 'function' ? named(camelCase(key), each) : each),
  }))
  const readWith = (read: FieldReader): RecordOf<T> => {
    const record: json.JsonObject = {}
    for (const each of all)
      if ('codec' in each) setDefined(record, each.name, read(each.key, each.codec))
      else if ('read' in each) setAllDefined(record, each.read(read, each.key, record))
    return record as RecordOf<T>
  }
  const read: json.Shape<RecordOf<T>> = (value, at) => {
    const found = json.anyObject(value, at)
    return readWith((key, shape) => shape(found[key], at ? `${at}.${key}` : key))
  }
  const write = (record: RecordOf<T>, urls: RecordUrls, parent?: unknown) => {
    const githubRecord: json.JsonObject = {}
    for (const each of all)
      if ('codec' in each) {
        const value = (record as json.JsonObject)[each.name]
        if (value !== undefined) githubRecord[each.key] = writeWith(each.codec, value, urls, record)
      } else if ('value' in each)
        setDefined(githubRecord, each.key, each.value(record as never, urls, parent as never))
      else setAllDefined(githubRecord, each.write(record as never, urls, each.key))
    return githubRecord
  }
  return Object.assign(read, { readWith, write })
}

/**
 * Fields that become the object `name` of the record. It is undefined if the GitHub record does not have the field with the key of this
 * part.
 */
export function together<const N extends string, T extends Fields>(name: N, fields: T) {
  type Together = { [K in N]: RecordOf<T> | undefined }
  const group = recordFormat(fields)
  const part: Part<Together> = {
    read(read, key) {
      const isPresent = read(key, optional(string)) !== undefined
      return { [name]: isPresent ? group.readWith(read) : undefined } as Together
    },
    write: (record: Together, urls) =>
      record[name] ? group.write(record[name], urls, record) : {},
  }
  return part
}

const camelCase = (name: string): string =>
  name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

function setDefined(target: json.JsonObject, name: string, value: unknown): void {
  if (value !== undefined) target[name] = value
}

function setAllDefined(target: json.JsonObject, source: object): void {
  for (const [name, value] of Object.entries(source)) setDefined(target, name, value)
}
