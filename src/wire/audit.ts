import * as s from './schema.ts'

export const auditEntrySchema = s.object(
  {
    id: s.integer,
    at: s.dateTime,
    actor: {
      ...s.string,
      description:
        'The login of the account that acted. `command line`, `the service` and `not signed in` are not accounts.',
    },
    token: {
      ...s.nullable(s.string),
      description: 'The name of the token or session that the account used.',
    },
    address: s.nullable(s.string),
    action: s.string,
    subject: { ...s.nullable(s.string), description: 'Such as `migration 7`.' },
    outcome: s.enumOf(['done', 'refused']),
    details: {
      ...s.mapOf<s.Schema>({}),
      description: 'More about the action. Its fields depend on the action.',
    },
  },
  { description: 'An entry of the audit log.' },
)

export type AuditEntry = s.Static<typeof auditEntrySchema>
