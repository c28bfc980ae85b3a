interface Counted {
  state: string
  repositories: { skipped: number }
}

/** There is an archive, or was, and it lacks some of the repositories that were asked for. */
export const isPartial = ({ state, repositories }: Counted): boolean =>
  state === 'exported' && repositories.skipped > 0
