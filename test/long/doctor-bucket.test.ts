import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  assertFinding,
  doctor,
  doctorCommand,
  errorsAmong,
  type Flags,
  findResult,
  validSettings,
} from '../support/doctor-scene.ts'
import { freePort } from '../support/free-port.ts'
import { contentsOf, emptyBucket, needsObjectStore } from '../support/radosgw.ts'

describe('doctor checks a bucket', needsObjectStore, () => {
  const onBucket = async (
    t: TestContext,
    { endpoint, bucket }: { endpoint: string; bucket: string },
    more: Flags = {},
  ) => {
    const settings = { ...(await validSettings(t)), blobs: `s3://${bucket}/some/prefix`, ...more }
    return doctor(settings, { AWS_ENDPOINT_URL: endpoint })
  }

  test('that works, and is left empty', async (t) => {
    const bucket = await emptyBucket()
    const findings = await onBucket(t, bucket)
    assert.deepEqual(errorsAmong(findings), [])
    assertFinding(findings, 'bucket', 'passed', /put, ranged get and list work$/)
    assertFinding(findings, 'downloads', 'passed', /^by signed links at 127\.0\.0\.1:/)
    assertFinding(findings, 'clock of bucket', 'passed', /in sync/)
    assert.deepEqual(await contentsOf(bucket), { objects: [], uploads: [] })
  })

  test('that does not exist', async (t) => {
    const { endpoint } = await emptyBucket()
    const findings = await onBucket(t, { endpoint, bucket: 'there-is-none' })
    assertFinding(findings, 'bucket', 'error', /the bucket there-is-none does not exist/)
    assert.match(findResult(findings, 'bucket').advice!, /create the bucket/)
  })

  test('with a wrong key, which is not shown', async (t) => {
    const { endpoint, bucket } = await emptyBucket()
    const { data, listen } = await validSettings(t)
    const { code, stdout, stderr } = await doctorCommand(
      ['--json', '--data', data, '--listen', listen, '--blobs', `s3://${bucket}`],
      { AWS_ENDPOINT_URL: endpoint, AWS_SECRET_ACCESS_KEY: 'mockingbird' },
    )
    const { checks } = JSON.parse(stdout)
    assertFinding(checks, 'bucket', 'error', /SignatureDoesNotMatch|AccessDenied/)
    assert.equal(code, 1)
    assert.doesNotMatch(stdout + stderr, /mockingbird/)
  })

  test('that clients cannot reach, unless downloads go through the API', async (t) => {
    const bucket = await emptyBucket()
    const outside = { s3PublicEndpoint: `http://127.0.0.1:${await freePort()}` }
    const cutOff = await onBucket(t, bucket, outside)
    assertFinding(cutOff, 'downloads', 'error', /cannot be reached from here: .*ECONNREFUSED/)
    assert.doesNotMatch(JSON.stringify(cutOff), /X-Amz-Signature/i, 'a link is a credential')
    const proxied = await onBucket(t, bucket, { ...outside, downloads: 'proxy' })
    assertFinding(proxied, 'downloads', 'passed', /^through the API/)
  })
})
