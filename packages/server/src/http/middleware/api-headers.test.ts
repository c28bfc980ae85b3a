import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mediaTypeChooser } from './api-headers.ts'

const PREVIEW = 'application/vnd.github.wyandotte-preview+json'
const V3 = 'application/vnd.github.v3+json'
const previewed = { previewed: true }
const plain = { previewed: false }
const required = mediaTypeChooser({ vendor: 'github', preview: 'required' })
const optional = mediaTypeChooser({ vendor: 'github', preview: 'optional' })

for (const accept of [
  PREVIEW,
  PREVIEW.toUpperCase(),
  `${V3}, ${PREVIEW}`,
  `${PREVIEW}; charset=utf-8`,
  PREVIEW.replace('+json', ''),
  `text/html, ${PREVIEW};q=0.1`,
]) {
  test(`preview required: "${accept}" selects the preview`, () =>
    assert.equal(required(accept, previewed), 'github.wyandotte-preview; format=json'))
}

for (const accept of [
  undefined,
  '',
  '*/*',
  'application/json',
  V3,
  `${PREVIEW};q=0`,
  'text/html',
]) {
  test(`preview required: "${accept}" is rejected`, () =>
    assert.throws(() => required(accept, previewed), {
      status: 415,
      message: /^If you would/,
    }))
}

const V3_WITHOUT_SUFFIX = V3.replace('+json', '')
for (const accept of [
  undefined,
  '',
  ' ',
  '*/*',
  'application/*',
  'application/json',
  V3,
  V3_WITHOUT_SUFFIX,
]) {
  test(`preview optional: "${accept}" selects v3`, () =>
    assert.equal(optional(accept, previewed), 'github.v3; format=json'))
  test(`preview required: "${accept}" selects v3 for an operation without preview`, () =>
    assert.equal(required(accept, plain), 'github.v3; format=json'))
}

test('the type with the highest weight is chosen', () => {
  assert.equal(
    optional(`${V3};q=0.2, ${PREVIEW};q=0.8`, previewed),
    'github.wyandotte-preview; format=json',
  )
  assert.equal(optional(`${V3}, ${PREVIEW};q=0.8`, previewed), 'github.v3; format=json')
})

test('another format of the vendor, and text that is not a media type, are rejected', () => {
  for (const accept of ['application/vnd.github.v3.raw', '__proto__'])
    assert.throws(() => optional(accept, plain), { status: 415 }, accept)
})

test('an accept header without JSON is rejected with a message', () => {
  assert.throws(() => optional('application/xml', previewed), {
    status: 415,
    message: "Unsupported 'Accept' header: 'application/xml'. Must accept 'application/json'.",
  })
})

test('the configured vendor is used', () => {
  const acme = mediaTypeChooser({ vendor: 'acme', preview: 'required' })
  assert.equal(
    acme('application/vnd.acme.wyandotte-preview+json', previewed),
    'acme.wyandotte-preview; format=json',
  )
  assert.throws(() => acme(PREVIEW, previewed), { status: 415 })
})
