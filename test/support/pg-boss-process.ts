import { connect } from '../../packages/server/src/db/connect.ts'
import { createPgBossQueue } from '../../packages/server/src/queue/pg-boss.ts'

/**
 * A worker process for tests, which start, kill and freeze it. It sends events to its parent: `ready`, then for each job `claimed`,
 * `lost` if it is aborted, and `done` or the name of the error; and `error` for errors of the queue. It finishes its jobs when the
 * parent sends a message.
 */
const [databaseUrl = '', name = '', pollIntervalMs = '1000'] = process.argv.slice(2)
const ACCOUNT = { site_admin: 0, created_at: 0 }
const send = (what: string, payload?: unknown) => process.send?.({ what, payload })
const mayFinish = new Promise((resolve) => process.once('message', resolve))

const { db } = await connect({ dataDirectory: '', databaseUrl })
const onError = (error: unknown) => send('error', String(error))
const queue = createPgBossQueue({
  databaseUrl,
  db,
  onError,
  superviseSeconds: 1,
  renewIntervalMs: 50,
  pollIntervalMs: Number(pollIntervalMs),
})
await queue.start()
queue.work(
  {
    task: {
      async run({ payload }, { signal, finish }) {
        signal.addEventListener('abort', () => send('lost', payload))
        send('claimed', payload)
        await mayFinish
        try {
          await finish((tx) =>
            tx
              .insertInto('accounts')
              .values({ ...ACCOUNT, login: `${payload}`, login_key: `${payload}`, type: name })
              .execute(),
          )
          send('done', payload)
        } catch (error) {
          send((error as Error).name, payload)
          throw error
        }
      },
      onGiveUp: async () => {},
    },
  },
  { concurrency: 2, onError },
)
send('ready')
