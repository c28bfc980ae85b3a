import type { SchemaStep } from './step.ts'

/**
 * An event whose owner already has as many deliveries under way as allowed is parked: it has no job until a place is free. Both
 * indexes hold only the events that they are for, so they stay small whatever the log of deliveries holds.
 */
export const parkedWebhookEvents: SchemaStep = {
  name: 'parked webhook events',
  statements: () => [
    'alter table webhook_events add column parked integer not null default 0',
    'create index webhook_events_parked on webhook_events (webhook_id, id) where parked = 1',
    `create index webhook_events_waiting on webhook_events (webhook_id, id) where state = 'waiting'`,
  ],
}
