import { offsetTimestamps } from '../http/middleware/timestamps.ts'
import { webhookPayload } from '../http/routes/webhooks/webhook-json.ts'
import { repeatedly } from '../lib/repeatedly.ts'
import { RetryLater, type Working } from '../queue/queue.ts'
import type { Config } from '../settings/config.ts'
import { addressesAllowed } from '../webhooks/allowed-addresses.ts'
import { createDeliveries } from '../webhooks/deliver-webhook.ts'
import { DELIVERIES_AT_ONCE } from '../webhooks/parked-events.ts'
import { resolver } from '../webhooks/send-request.ts'
import type { ProcessParts } from './process-parts.ts'
import { VERSION } from './version.ts'

/** Only events that were parked by a process which has died wait for this. */
const RESUME_PARKED_EVERY_MS = 60_000

/** Sends what webhooks are to be told, in a line of its own beside the exports. */
export function startDeliveries(config: Config, parts: ProcessParts): Working {
  const { queue, log, addresses } = parts
  const migrationTime = offsetTimestamps(config.timeZone)
  const deliveries = createDeliveries({
    ...parts,
    send: { isAllowed: addressesAllowed(config.webhookNetworks ?? []), resolve: resolver() },
    version: VERSION,
    payloadOf: webhookPayload({ addresses, migrationTime, edition: '' }),
  })
  const working = queue.work(deliveries.handlers, {
    line: 'webhooks',
    concurrency: DELIVERIES_AT_ONCE,
    onError(err, job) {
      // Told by the log of deliveries.
      if (!(err instanceof RetryLater)) log.error({ err, job }, 'webhook job failed')
    },
  })
  const resuming = repeatedly(deliveries.resumeParked, RESUME_PARKED_EVERY_MS, (err) =>
    log.error({ err }, 'could not resume webhook deliveries'),
  )
  return {
    async stop() {
      await resuming.stop()
      await working.stop()
    },
  }
}
