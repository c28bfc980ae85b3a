import { type Dispatch, type SetStateAction, useEffect, useState } from 'react'

interface Selection {
  chosen: ReadonlySet<string>
  setChosen: Dispatch<SetStateAction<ReadonlySet<string>>>
  /** Removes the stored selection, once the migration is started. */
  forget(): void
}

/** The account of a migration: a user, or an organization that the user owns. */
interface Account {
  login: string
  org: string | undefined
}

const keyOf = ({ login, org = '' }: Account) => `godwit.selection ${login} ${org}`

function stored(account: Account): Set<string> {
  const text = sessionStorage.getItem(keyOf(account))
  return new Set<string>(text === null ? [] : JSON.parse(text))
}

function store(account: Account, names: ReadonlySet<string>): void {
  try {
    sessionStorage.setItem(keyOf(account), JSON.stringify([...names]))
  } catch {
    // The storage is full: a reload loses the selection.
    sessionStorage.removeItem(keyOf(account))
  }
}

/** Selects a repository for the next migration, in addition to those that are selected already. */
export const selectRepository = (account: Account, fullName: string): void =>
  store(account, stored(account).add(fullName))

/** The repositories that are selected for the next migration of the account. A reload of the page keeps them. */
export function useSelection({ login, org }: Account): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => stored({ login, org }))
  useEffect(() => store({ login, org }, chosen), [login, org, chosen])
  return { chosen, setChosen, forget: () => sessionStorage.removeItem(keyOf({ login, org })) }
}
