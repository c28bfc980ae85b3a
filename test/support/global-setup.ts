import './clean-environment.ts'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { moveTemporaryFilesToMemory } from './memory-directory.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'
import { startObjectStore } from './radosgw-cluster.ts'
import { prepareUpgradedFile } from './upgraded-databases.ts'

let cluster: PostgresServer | undefined
let removeUpgraded: (() => Promise<void>) | undefined
let removeTemporaryFiles: (() => Promise<void>) | undefined
let objects: Awaited<ReturnType<typeof serveObjectStore>> | undefined

/** Starts one PostgreSQL for the whole run, and one object store if a test needs it. Each test has its own database and bucket. */
export async function globalSetup(): Promise<void> {
  await startProgram('the directory for temporary files', async () => {
    removeTemporaryFiles = await moveTemporaryFilesToMemory()
    removeUpgraded = await prepareUpgradedFile()
  })
  await startProgram('PostgreSQL', async () => {
    cluster = await startPostgres()
    process.env.GODWIT_TEST_POSTGRES = cluster.url
  })
  await startProgram('the object store', async () => {
    objects = await serveObjectStore()
    process.env.GODWIT_TEST_OBJECT_STORE = objects.url
  })
}

/** Ends the run with one line if the part cannot start; the test runner would print a stack trace. */
async function startProgram(name: string, start: () => Promise<void>): Promise<void> {
  try {
    await start()
  } catch (error) {
    await globalTeardown()
    const reason = error instanceof Error ? error.message : String(error)
    console.error(`npm test: cannot start ${name}: ${reason.trim().replaceAll(/\s*\n\s*/g, '; ')}`)
    process.exit(1)
  }
}

export async function globalTeardown(): Promise<void> {
  await Promise.all([cluster?.stop(), objects?.stop(), removeUpgraded?.()])
  await removeTemporaryFiles?.()
}

/** Serves the address and keys of the run's object store, which starts at the first request. */
async function serveObjectStore(): Promise<{ url: string; stop(): Promise<void> }> {
  let started: ReturnType<typeof startObjectStore> | undefined
  const server = createServer(async (_, response) => {
    started ??= startObjectStore()
    try {
      response.end(JSON.stringify(await started))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
      // If it failed to start, the tests that needed it have reported that, and there is nothing to stop.
      await (await started?.catch(() => undefined))?.stop()
    },
  }
}
