import type { SchemaStep } from './step.ts'

/**
 * People sign in with their tokens of the forge: such a token is a row like any other, valid for a minute after the forge was
 * asked. What was asked is kept beside it, so that all processes together ask once.
 */
export const forgeSignIn: SchemaStep = {
  name: 'forge sign-in',
  statements: () => [
    'alter table tokens add column asked_at bigint',
    'alter table accounts add column forge_id bigint',
    'create unique index accounts_by_forge on accounts (forge_id)',
    'alter table sessions add column token_key text',
    `create table forge_questions (
      digest text primary key,
      answer text not null,
      next_at bigint not null)`,
    'create index forge_questions_by_time on forge_questions (next_at)',
  ],
}
