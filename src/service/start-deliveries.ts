import { offsetTimestamps } from '../http/door/timestamps.ts'
import { webhookPayload } from '../http/webhooks/webhook-payload.ts'
import { NotNow, type Working } from '../queue/queue.ts'
import type { Config } from '../settings/config.ts'
import { addressesAllowed } from '../webhooks/allowed-addresses.ts'
import { deliverHandlers } from '../webhooks/deliver-webhook.ts'
import { DELIVERIES_AT_ONCE } from '../webhooks/delivery-lanes.ts'
import { resolver } from '../webhooks/resolve-name.ts'
import type { ProcessParts } from './process-parts.ts'
import { VERSION } from './version.ts'

/** Sends what webhooks are to be told, in a line of its own beside the exports. */
export function startDeliveries(config: Config, parts: ProcessParts): Working {
  const { queue, log, addresses } = parts
  const migrationTime = offsetTimestamps(config.timeZone)
  const handlers = deliverHandlers({
    ...parts,
    send: { isAllowed: addressesAllowed(config.webhookNetworks ?? []), resolve: resolver() },
    version: VERSION,
    payloadOf: webhookPayload({ addresses, migrationTime, edition: '' }),
  })
  return queue.work(handlers, {
    line: 'webhooks',
    concurrency: DELIVERIES_AT_ONCE,
    onError(err, job) {
      // Told by the log of deliveries.
      if (!(err instanceof NotNow)) log.error({ err, job }, 'webhook job failed')
    },
  })
}
