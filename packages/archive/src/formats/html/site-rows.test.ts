import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SortedRows } from '../../../../lib/src/sorted-rows.ts'
import { type Conversion, Report } from '../format.ts'
import { readSiteRows } from './site-rows.ts'

test('repositories whose safe names are equal have different directories', async () => {
  const names = ['.github', '_github', `a${'x'.repeat(60)}`, `b${'x'.repeat(60)}`]
  const content = {
    urlOf: () => '',
    async *records(kind: string) {
      if (kind === 'repositories') for (const name of names) yield { owner: 'corp', name }
    },
  }
  const conversion = { content, report: new Report(() => {}) } as unknown as Conversion
  const siteRows = await readSiteRows(conversion, {} as SortedRows)
  assert.deepEqual(
    siteRows.repositories
      .values()
      .map(({ directory }) => directory)
      .toArray(),
    [
      'repositories/corp/_github',
      'repositories/corp/_github-2',
      `repositories/corp/${'x'.repeat(60)}`,
      `repositories/corp/${'x'.repeat(60)}-2`,
    ],
  )
})
