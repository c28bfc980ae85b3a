import { connect } from '../db/connect.ts'
import { createPgBossQueue } from './pg-boss.ts'

/**
 * A process that works, for tests to start, kill and freeze. It tells its parent what happens: `ready`, then for each
 * job `took`, perhaps `lost`, and `done` or the name of the error. It begins to finish jobs when told to.
 */
const [databaseUrl = '', name = ''] = process.argv.slice(2)
const tell = (what: string, payload?: unknown) => process.send?.({ what, payload })
const told = new Promise((resolve) => process.once('message', resolve))

const { db } = connect({ dataDirectory: '', databaseUrl })
const onTrouble = (error: unknown) => tell('trouble', String(error))
const queue = createPgBossQueue({
  databaseUrl,
  db,
  onTrouble,
  superviseSeconds: 1,
  keepEveryMs: 50,
})
await queue.start()
queue.work(
  {
    task: {
      async run({ payload }, { signal, finish }) {
        signal.addEventListener('abort', () => tell('lost', payload))
        tell('took', payload)
        await told
        const done = finish((tx) =>
          tx
            .insertInto('accounts')
            .values({
              login: `${payload}`,
              login_key: `${payload}`,
              type: name,
              site_admin: 0,
              created_at: 0,
            })
            .execute(),
        )
        await done.then(
          () => tell('done', payload),
          (error: Error) => tell(error.name, payload),
        )
      },
      gaveUp: async () => {},
    },
  },
  { concurrency: 2, onTrouble },
)
tell('ready')
