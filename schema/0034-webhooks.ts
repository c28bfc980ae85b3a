import { ID } from './column-types.ts'
import type { SchemaStep } from './step.ts'

/**
 * Webhooks, what is to be told to them, and every try to tell it. Their jobs wait in a line of their own, so that a receiver
 * that hangs is in nobody's way. Nothing refers to a webhook by a constraint: its removal never waits for an export that ends,
 * nor an export for it. Who started a migration is told with it: an organization starts nothing by itself.
 */
export const webhooks: SchemaStep = {
  name: 'webhooks',
  statements: (engine) => [
    `create table webhooks (
      id ${ID[engine]},
      owner_id bigint not null references accounts (id),
      url text not null,
      content_type text not null,
      secret text,
      events text not null,
      active integer not null,
      created_at bigint not null,
      updated_at bigint not null,
      failing_since bigint,
      disabled_reason text,
      last_delivery text)`,
    'create index webhooks_by_owner on webhooks (owner_id)',
    `create table webhook_events (
      id ${ID[engine]},
      guid text not null unique,
      webhook_id bigint not null,
      event text not null,
      action text,
      facts text not null,
      payload text,
      state text not null,
      turn integer not null,
      tries integer not null,
      tries_left integer not null,
      next_at bigint not null,
      created_at bigint not null)`,
    'create index webhook_events_by_webhook on webhook_events (webhook_id, id)',
    'create index webhook_events_by_age on webhook_events (created_at)',
    `create table webhook_deliveries (
      id ${ID[engine]},
      event_id bigint not null,
      webhook_id bigint not null,
      delivered_at bigint not null,
      redelivery integer not null,
      duration_ms integer not null,
      status text not null,
      status_code integer not null,
      url text not null,
      request_headers text not null,
      response text)`,
    'create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id)',
    'create index webhook_deliveries_by_event on webhook_deliveries (event_id)',
    `alter table jobs add column line text not null default 'jobs'`,
    'create index jobs_by_line on jobs (line, due_at, id)',
    'drop index jobs_by_due_time',
    'alter table migrations add column started_by text',
    `create table webhook_tallies (
      outcome text primary key,
      count bigint not null)`,
    `insert into webhook_tallies values ('delivered', 0), ('failed', 0), ('given up', 0)`,
  ],
}
