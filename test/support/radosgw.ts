import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { S3 } from '@aws-sdk/client-s3'
import { isOwnerMark } from '../../src/exporter/sweep.ts'
import { freePort } from './free-port.ts'
import { type ObjectStore, startGateway } from './radosgw-cluster.ts'
import { skipUnless } from './skip-unless.ts'

const PROGRAMS = ['ceph', 'ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin', 'setpriv']

const isInstalled = PROGRAMS.every((program) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program))),
)

/** Options for tests with an object store. */
export const needsObjectStore = skipUnless(isInstalled, "Ceph's object gateway is not installed")

let asked: Promise<ObjectStore> | undefined

/** The shared object store; its keys are in this process's environment, where the SDK looks for them. */
async function objectStore(): Promise<ObjectStore> {
  const url = process.env.GODWIT_TEST_OBJECT_STORE
  if (!url) throw new Error('no object store: run the tests through `npm test`')
  asked ??= fetch(url).then(async (answer) => {
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as ObjectStore
  })
  const store = await asked
  process.env.AWS_REGION = 'us-east-1'
  process.env.AWS_ACCESS_KEY_ID = store.accessKeyId
  process.env.AWS_SECRET_ACCESS_KEY = store.secretAccessKey
  return store
}

export interface TestBucket {
  endpoint: string
  bucket: string
  /** For looking behind the blob store's back. */
  s3: S3
}

/** An empty bucket of its own; it goes with the object store. */
export async function emptyBucket(): Promise<TestBucket> {
  const { endpoint } = await objectStore()
  const bucket = `t-${randomBytes(8).toString('hex')}`
  const s3 = new S3({ endpoint, forcePathStyle: true })
  await s3.createBucket({ Bucket: bucket })
  return { endpoint, bucket, s3 }
}

/** The flags of a Godwit process that uses the bucket. */
export const flagsFor = ({ bucket }: TestBucket): string[] => ['--blobs', `s3://${bucket}/godwit`]

export const envFor = ({ endpoint }: Pick<TestBucket, 'endpoint'>) => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_REGION: process.env.AWS_REGION!,
  AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID!,
  AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY!,
})

/** Everything that is in the bucket but whose it is, finished or not, by name. */
export async function contentsOf({ bucket, s3 }: TestBucket) {
  const { Contents = [] } = await s3.listObjectsV2({ Bucket: bucket })
  const { Uploads = [] } = await s3.listMultipartUploads({ Bucket: bucket })
  const names = (all: { Key?: string | undefined }[]) =>
    all
      .map(({ Key = '' }) => Key)
      .filter((key) => !isOwnerMark(basename(key)))
      .sort()
  return { objects: names(Contents), uploads: names(Uploads) }
}

/** A second way to the same objects, which can be cut off and mended: a gateway of the test's own. */
export async function ownGateway(t: TestContext) {
  const { directory } = await objectStore()
  const port = await freePort()
  let gateway = await startGateway(directory, port)
  t.after(() => gateway.kill('SIGKILL'))
  return {
    endpoint: gateway.endpoint,
    kill: () => gateway.kill('SIGKILL'),
    async restart() {
      gateway = await startGateway(directory, port)
    },
  }
}
