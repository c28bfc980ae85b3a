import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startObjectStore } from './radosgw-cluster.ts'

/** Starts the one object store of the run when the first test asks for it, at the address that this resolves to. */
export async function serveObjectStore(): Promise<{ url: string; stop(): Promise<void> }> {
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
      // One that did not start has told those who asked for it, and left nothing.
      await (await started?.catch(() => undefined))?.stop()
    },
  }
}
