import type { SelectQueryBuilder } from 'kysely'

/** How many rows a query finds that selects nothing yet. */
export async function countRows<DB, T extends keyof DB>(
  query: SelectQueryBuilder<DB, T, object>,
): Promise<number> {
  const counted = query.select((of) => of.fn.countAll<number>().as('total'))
  const { total } = await counted.$castTo<{ total: number }>().executeTakeFirstOrThrow()
  return total
}
