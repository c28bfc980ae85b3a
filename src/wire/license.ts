import * as S from './schema.ts'

export const licenseSchema = S.described(
  'A licence, detected from its text or set by the operator.',
  {
    ...S.each(['key', 'name', 'spdx_id', 'node_id'], S.string),
    ...S.each(['url', 'html_url'], S.uri),
  },
)

export const licenseTextSchema = S.described('A licence with its text.', {
  ...licenseSchema.properties,
  ...S.each(['description', 'implementation'], S.string),
  ...S.each(
    ['permissions', 'conditions', 'limitations'],
    S.arrayOf(S.string).describe('Empty for licences that are not commonly used.'),
  ),
  body: S.string.describe('The text.'),
  featured: S.boolean,
})

export type License = S.Static<typeof licenseSchema>
export type LicenseText = S.Static<typeof licenseTextSchema>
