import { arrayOf, boolean, each, object, type Static, string, uri } from './schema.ts'

export const licenseSchema = object(
  {
    ...each(['key', 'name', 'spdx_id', 'node_id'], string),
    ...each(['url', 'html_url'], uri),
  },
  { description: 'A licence, detected from its text or set by the operator.' },
)

export const licenseTextSchema = object(
  {
    ...licenseSchema.properties,
    ...each(['description', 'implementation'], string),
    ...each(['permissions', 'conditions', 'limitations'], {
      ...arrayOf(string),
      description: 'Empty for licences that are not commonly used.',
    }),
    body: { ...string, description: 'The text.' },
    featured: boolean,
  },
  { description: 'A licence with its text.' },
)

export type License = Static<typeof licenseSchema>
export type LicenseText = Static<typeof licenseTextSchema>
