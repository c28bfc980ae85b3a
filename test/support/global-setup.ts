import { forgetSomebody } from './nobodys-environment.ts'
import { moveTemporaryFiles } from './place-in-memory.ts'
import { type Cluster, startCluster } from './postgres.ts'
import { serveObjectStore } from './radosgw-on-demand.ts'
import { keepUpgradedFile } from './upgraded-databases.ts'

let cluster: Cluster | undefined
let removeUpgraded: (() => Promise<void>) | undefined
let removeTemporaryFiles: (() => Promise<void>) | undefined
let objects: Awaited<ReturnType<typeof serveObjectStore>> | undefined

/** One PostgreSQL for the whole run, and one object store if a test asks for it; every test has its own room in them. */
export async function globalSetup(): Promise<void> {
  forgetSomebody()
  removeTemporaryFiles = await moveTemporaryFiles()
  cluster = await startCluster()
  process.env.GODWIT_TEST_POSTGRES = cluster.url
  removeUpgraded = await keepUpgradedFile()
  objects = await serveObjectStore()
  process.env.GODWIT_TEST_OBJECT_STORE = objects.url
}

export async function globalTeardown(): Promise<void> {
  await Promise.all([cluster?.stop(), objects?.stop(), removeUpgraded?.()])
  await removeTemporaryFiles?.()
}
