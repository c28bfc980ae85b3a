import { all, flag, listOf, recordOf, text } from '../description/json-schema.ts'
import { licenseSchema } from '../repositories/repository-schema.ts'

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
