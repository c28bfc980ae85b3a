type MigrationCounts = { state: string; repositories: { skipped: number } }

/** Whether a migration was exported without some of its repositories. */
export const isPartial = ({ state, repositories }: MigrationCounts): boolean =>
  state === 'exported' && repositories.skipped > 0
