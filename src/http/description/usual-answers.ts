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

/** A record whose example has its name. */
export const record = (
  description: string,
  name: SchemaName & ExampleName,
  ...headers: HeaderName[]
): DescribedAnswer => json(description, { schema: one(name), example: name, headers })

/** A record as it is now, unless the caller has it already. */
export const current = (description: string, name: SchemaName & ExampleName) => ({
  200: record(description, name, 'etag'),
  304: notModified,
})

/** One page of a list, unless the caller has it already. */
export const page = (name: SchemaName, example: ExampleName, ...more: HeaderName[]) => ({
  200: json('One page of the list.', {
    schema: several(name),
    example,
    headers: ['etag', 'link', ...more],
  }),
  304: notModified,
})

/** Adds another content type to a response, for clients that accept it. */
export function alsoAs<Answers extends { 200: DescribedAnswer }>(
  type: string,
  answers: Answers,
  schema: Schema = string,
): Answers {
  const { content } = answers[200]
  return { ...answers, 200: { ...answers[200], content: { ...content, [type]: { schema } } } }
}
