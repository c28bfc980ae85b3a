import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { S3 } from '@aws-sdk/client-s3'
import { isOwnerMark } from '../../packages/server/src/exporter/blob-store-owner.ts'
import { freePort } from './free-port.ts'
import { type ObjectStore, startGateway } from './radosgw-cluster.ts'
import { skipUnless } from './skip-unless.ts'

const PROGRAMS = ['ceph', 'ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin', 'setpriv']

const isInstalled = PROGRAMS.every((program) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program))),
)

/** Options for tests with an object store. */
export const needsObjectStore = skipUnless(isInstalled, "Ceph's object gateway is not installed")

let shared: Promise<ObjectStore> | undefined

/** Returns the shared object store. Its keys are in this process's environment, where the SDK looks for them. */
async function sharedObjectStore(): Promise<ObjectStore> {
  const url = process.env.GODWIT_TEST_OBJECT_STORE
  if (!url) throw new Error('no object store: run the tests through `npm test`')
  shared ??= fetch(url).then(async (response) => {
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as ObjectStore
  })
  const store = await shared
  process.env.AWS_REGION = 'us-east-1'
  process.env.AWS_ACCESS_KEY_ID = store.accessKeyId
  process.env.AWS_SECRET_ACCESS_KEY = store.secretAccessKey
  return store
}

export interface TestBucket {
  endpoint: string
  bucket: string
  /** A client for direct access to the bucket. */
  s3: S3
}

/** Creates an empty bucket. It is removed with the object store. */
export async function emptyBucket(): Promise<TestBucket> {
  const { endpoint } = await sharedObjectStore()
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

/** Returns the names of all objects and unfinished uploads in the bucket, without the mark of its owner. */
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

/** Starts another gateway to the same objects, which the test can kill and restart. */
export async function ownGateway(t: TestContext) {
  const { directory } = await sharedObjectStore()
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
