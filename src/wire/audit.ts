import * as s from './schema.ts'

export const auditEntrySchema = s.described('An entry of the audit log.', {
  id: s.integer,
  at: s.dateTime,
  actor: s.string.describe(
    'The login of the account that acted. `command line`, `the service` and `not signed in` are not accounts.',
  ),
  token: s.stringOrNull.describe('The name of the token or session that the account used.'),
  address: s.stringOrNull,
  action: s.string,
  subject: s.stringOrNull.describe('Such as `migration 7`.'),
  outcome: s.enumOf(['done', 'refused']),
  details: s
    .mapOf<s.Schema>({})
    .describe('More about the action. Its fields depend on the action.'),
})

export type AuditEntry = s.Static<typeof auditEntrySchema>
