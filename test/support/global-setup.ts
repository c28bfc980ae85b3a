import { type Cluster, startCluster } from './postgres.ts'

let cluster: Cluster | undefined

/** One PostgreSQL for the whole run; every test makes its own database in it. */
export async function globalSetup(): Promise<void> {
  cluster = await startCluster()
  process.env.GODWIT_TEST_POSTGRES = cluster.url
}

export async function globalTeardown(): Promise<void> {
  await cluster?.stop()
}
