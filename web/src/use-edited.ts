import { type Dispatch, type SetStateAction, useState } from 'react'

interface Edited<T> {
  draft: T
  change: Dispatch<SetStateAction<T>>
  /** Only what was edited is sent: the rest may have been changed elsewhere since. */
  save(send: (changes: Partial<T>) => Promise<void>): Promise<void>
  /** Loads what was changed elsewhere, in place of what was edited; undefined while nothing was. */
  load: (() => void) | undefined
}

/** What a form shows: what is known, until something is edited. From then on it stays, whatever others change. */
export function useEdited<T extends object>(
  known: T,
  asSent: (draft: T) => T = (draft) => draft,
): Edited<T> {
  const [begun, setBegun] = useState(known)
  const [draft, setDraft] = useState(known)
  const [isSaving, setSaving] = useState(false)
  const edited = asSent(draft)
  // While it is being saved, what is read may be what was sent.
  const isChanged = !isSaving && !isSame(known, begun)
  const isEdited = !isSame(edited, begun) && !isSame(edited, known)

  function load(): void {
    setBegun(known)
    setDraft(known)
  }
  if (isChanged && !isEdited) load()

  return {
    draft,
    change: setDraft,
    async save(send) {
      setSaving(true)
      try {
        await send(changesOf(begun, edited))
        setBegun(edited)
      } finally {
        setSaving(false)
      }
    },
    load: isChanged && isEdited ? load : undefined,
  }
}

const isSame = <T extends object>(one: T, other: T): boolean =>
  Object.keys(changesOf(one, other)).length === 0

function changesOf<T extends object>(before: T, now: T): Partial<T> {
  const names = Object.keys(now) as (keyof T)[]
  const changed = names.filter((name) => JSON.stringify(now[name]) !== JSON.stringify(before[name]))
  return Object.fromEntries(changed.map((name) => [name, now[name]])) as Partial<T>
}
