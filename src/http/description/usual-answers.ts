import { type Schema, string } from '../../wire/schema.ts'
import type { ExampleName } from './examples.ts'
import {
  type DescribedAnswer,
  type HeaderName,
  json,
  one,
  type SchemaName,
  several,
} from './operation.ts'
import { refusal } from './refusals.ts'

export const notFound = refusal('not-found')
export const notModified = refusal('not-modified')
export const done = { description: 'Done.' }

/** The response with one record, whose example has the same name. */
export const record = (
  description: string,
  name: SchemaName & ExampleName,
  ...headers: HeaderName[]
): DescribedAnswer => json(description, { schema: one(name), example: name, headers })

/** The responses of reading one record: the record, or 304. */
export const current = (description: string, name: SchemaName & ExampleName) => ({
  200: record(description, name, 'etag'),
  304: notModified,
})

/** The responses of reading a list: one page of it, or 304. */
export const page = (name: SchemaName, example: ExampleName, ...more: HeaderName[]) => ({
  200: json('One page of the list.', {
    schema: several(name),
    example,
    headers: ['etag', 'link', ...more],
  }),
  304: notModified,
})

/** Adds another content type to the 200 response, for clients that accept it. */
export function alsoAs<Answers extends { 200: DescribedAnswer }>(
  type: string,
  answers: Answers,
  schema: Schema = string,
): Answers {
  const { content } = answers[200]
  return { ...answers, 200: { ...answers[200], content: { ...content, [type]: { schema } } } }
}
