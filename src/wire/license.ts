import * as s from './schema.ts'

export const licenseSchema = s.object(
  {
    ...s.each(['key', 'name', 'spdx_id', 'node_id'], s.string),
    ...s.each(['url', 'html_url'], s.uri),
  },
  { description: 'A licence, detected from its text or set by the operator.' },
)

export const licenseTextSchema = s.object(
  {
    ...licenseSchema.properties,
    ...s.each(['description', 'implementation'], s.string),
    ...s.each(['permissions', 'conditions', 'limitations'], {
      ...s.arrayOf(s.string),
      description: 'Empty for licences that are not commonly used.',
    }),
    body: { ...s.string, description: 'The text.' },
    featured: s.boolean,
  },
  { description: 'A licence with its text.' },
)

export type License = s.Static<typeof licenseSchema>
export type LicenseText = s.Static<typeof licenseTextSchema>
