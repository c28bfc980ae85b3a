import { readStateOf } from '../../../packages/hosts/src/discussions.ts'
import type { RequestBudget } from '../../../packages/hosts/src/forge/connect-forge.ts'
import { forgeDiscussions } from '../../../packages/hosts/src/forge/discussions/forge-discussions.ts'
import { connect } from '../../../packages/server/src/db/connect.ts'
import { upgradeSchema } from '../../../packages/server/src/db/upgrade.ts'
import {
  leaseReading,
  storeBatch,
  storedDiscussions,
} from '../../../packages/server/src/repositories/discussion-store.ts'

/** Reads `ann/many` of a forge into the database of a data directory; prints each batch and a summary at the end. */
const [url = '', dataDirectory = ''] = process.argv.slice(2)
const name = { owner: 'ann', name: 'many' }
const database = await connect({ dataDirectory, databaseUrl: undefined })
await upgradeSchema(database)
const { db } = database
const stored = await storedDiscussions(db, 'forge', name)
let requests = 0
const budget: RequestBudget = {
  async take() {
    requests++
  },
  async holdUntil() {},
}
const discussions = forgeDiscussions({ url, token: 'admin-token', budget })
const signal = new AbortController().signal
const lease = await leaseReading(db, 'forge', name, { reader: 'test', now: Date.now() })
let reading = readStateOf(stored.cursor)
const changes = await discussions.findChanges(name, stored, signal)
for await (const batch of changes.batches()) {
  await storeBatch(db, 'forge', name, batch, Date.now(), lease)
  reading = readStateOf(batch.cursor)
  process.stdout.write(`${batch.progress.read}/${batch.progress.total}\n`)
}
const megabytes = Math.round(process.resourceUsage().maxRSS / 1024)
const { changeToken } = reading ?? { changeToken: '' }
process.stdout.write(`${JSON.stringify({ changeToken, megabytes, requests })}\n`)
await database.close()
