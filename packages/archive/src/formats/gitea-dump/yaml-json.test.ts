import assert from 'node:assert/strict'
import { test } from 'node:test'
import { yamlJson, yamlTime } from './yaml-json.ts'

test('characters that are special in YAML are escaped', () => {
  const text = 'a\u0085b\u2028c\u2029d\u007fe\ufefff\u0009g\u0000h'
  const json = yamlJson({ text })
  assert.doesNotMatch(json, /[\p{Cc}\u2028\u2029\ufeff]/u)
  assert.equal(JSON.parse(json).text, text.replace('\u0000', '\ufffd'))
})

test('lone surrogates become U+FFFD, and pairs stay', () => {
  assert.equal(yamlJson('😝'), '"😝"')
  assert.equal(yamlJson(['\ud83d', '\\ud83d']), '["\ufffd","\\\\ud83d"]')
})

test('times are in UTC and without zero fractions', () => {
  assert.equal(yamlTime('2019-11-13T04:22:13.000+08:00'), '2019-11-12T20:22:13Z')
  assert.equal(yamlTime('2019-11-12T20:22:13.120Z'), '2019-11-12T20:22:13.120Z')
  assert.throws(() => yamlTime('yesterday'), /invalid time "yesterday"/)
})
