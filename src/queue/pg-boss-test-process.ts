import { connect } from '../db/connect.ts'
import { createPgBossQueue } from './pg-boss.ts'

/**
 * A process that works, for tests to start, kill and freeze. It tells its parent what happens: `ready`, then for each
 * job `took`, perhaps `lost`, and `done` or the name of the error. It begins to finish jobs when told to.
 */
const [databaseUrl = '', name = '', lookEveryMs = '1000'] = process.argv.slice(2)
const ACCOUNT = { site_admin: 0, created_at: 0 }
const tell = (what: string, payload?: unknown) => process.send?.({ what, payload })
const told = new Promise((resolve) => process.once('message', resolve))

const { db } = await connect({ dataDirectory: '', databaseUrl })
const onError = (error: unknown) => tell('trouble', String(error))
const queue = createPgBossQueue({
  databaseUrl,
  db,
  onError,
  superviseSeconds: 1,
  keepEveryMs: 50,
  lookEveryMs: Number(lookEveryMs),
})
await queue.start()
queue.work(
  {
    task: {
      async run({ payload }, { signal, finish }) {
        signal.addEventListener('abort', () => tell('lost', payload))
        tell('took', payload)
        await told
        try {
          await finish((tx) =>
            tx
              .insertInto('accounts')
              .values({ ...ACCOUNT, login: `${payload}`, login_key: `${payload}`, type: name })
              .execute(),
          )
          tell('done', payload)
        } catch (error) {
          tell((error as Error).name, payload)
          throw error
        }
      },
      gaveUp: async () => {},
    },
  },
  { concurrency: 2, onError },
)
tell('ready')
