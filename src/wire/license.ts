import * as s from './schema.ts'

export const licenseSchema = s.described(
  'A licence, detected from its text or set by the operator.',
  {
    ...s.each(['key', 'name', 'spdx_id', 'node_id'], s.string),
    ...s.each(['url', 'html_url'], s.uri),
  },
)

export const licenseTextSchema = s.described('A licence with its text.', {
  ...licenseSchema.properties,
  ...s.each(['description', 'implementation'], s.string),
  ...s.each(
    ['permissions', 'conditions', 'limitations'],
    s.arrayOf(s.string).describe('Empty for licences that are not commonly used.'),
  ),
  body: s.string.describe('The text.'),
  featured: s.boolean,
})

export type License = s.Static<typeof licenseSchema>
export type LicenseText = s.Static<typeof licenseTextSchema>
