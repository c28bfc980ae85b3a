import * as S from './schema.ts'

export const auditEntrySchema = S.described('An entry of the audit log.', {
  id: S.integer,
  at: S.dateTime,
  actor: S.string.describe(
    'The login of the account that acted. `command line`, `the service` and `not signed in` are not accounts.',
  ),
  token: S.stringOrNull.describe('The name of the token or session that the account used.'),
  address: S.stringOrNull,
  action: S.string,
  subject: S.stringOrNull.describe('Such as `migration 7`.'),
  outcome: S.enumOf(['done', 'refused']),
  details: S.mapOf<S.Schema>({}).describe(
    'More about the action. Its fields depend on the action.',
  ),
})

export type AuditEntry = S.Static<typeof auditEntrySchema>
