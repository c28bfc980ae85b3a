const migrationStates = ['pending', 'exporting', 'exported', 'failed'] as const
export type MigrationState = (typeof migrationStates)[number]

/** All that may ever happen to a migration's state. There is no way back: a retry is a new migration. */
const MOVES: Record<MigrationState, readonly MigrationState[]> = {
  pending: ['exporting', 'failed'],
  exporting: ['exported', 'failed'],
  exported: [],
  failed: [],
}

export const unfinishedStates: readonly ShownState[] = migrationStates.filter(
  (state) => MOVES[state].length > 0,
)

/** The reason of a migration that did not fail but was cancelled: for the wire, which has no word for it, both are `failed`. */
export const CANCELLED = 'cancelled'

/** As everything that is ours tells it. */
export type ShownState = MigrationState | typeof CANCELLED

export const shownState = (state: MigrationState, reason: string | null): ShownState =>
  state === 'failed' && reason === CANCELLED ? CANCELLED : state

export class InvalidStateChange extends Error {
  override name = 'InvalidStateChange'
}

/** The states from which `to` can be reached in one move. */
export function statesBefore(to: MigrationState): readonly MigrationState[] {
  return migrationStates.filter((from) => MOVES[from].includes(to))
}
