import { address, all, flag, listOf, recordOf, text } from '../description/json-schema.ts'

export const licenseSchema = recordOf(
  {
    ...all(['key', 'name', 'spdx_id', 'node_id'], text),
    ...all(['url', 'html_url'], address),
  },
  { description: 'A licence, detected from its text or set by the operator.' },
)

export const licenseTextSchema = recordOf(
  {
    ...licenseSchema.properties,
    ...all(['description', 'implementation'], text),
    ...all(['permissions', 'conditions', 'limitations'], {
      ...listOf(text),
      description: 'Known for the commonly used licences; empty for the others.',
    }),
    body: { ...text, description: 'The text.' },
    featured: flag,
  },
  { description: 'A licence with its text.' },
)
