import type { SchemaStep } from './step.ts'

/** Who has signed in with a browser, by which token. Of the cookie only the digest is kept. */
export const sessions: SchemaStep = {
  name: 'sessions',
  statements: () => [
    `create table sessions (
      digest text primary key,
      token_id bigint not null references tokens (id) on delete cascade,
      created_at bigint not null,
      expires_at bigint not null)`,
    'create index sessions_by_expiry on sessions (expires_at)',
  ],
}
