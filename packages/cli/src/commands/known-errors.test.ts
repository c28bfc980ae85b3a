import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeKnownError } from './known-errors.ts'

test('the error of a missing bucket names the bucket, and no setting that may name another one', () => {
  const message = 'PutObject: the bucket archives does not exist (404)'
  const error = Object.assign(new Error(message), { name: 'NoSuchBucket', $metadata: {} })
  assert.deepEqual(describeKnownError(error), {
    message: `${message}: create it, or name another one`,
    exitCode: 4,
  })
})
