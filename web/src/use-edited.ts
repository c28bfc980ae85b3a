import { type Dispatch, type SetStateAction, useState } from 'react'

interface Edited<T> {
  draft: T
  change: Dispatch<SetStateAction<T>>
  /** Sends only the edited fields, because others may have been changed elsewhere. */
  save(send: (changes: Partial<T>) => Promise<void>): Promise<void>
  /** Replaces the edits by the settings that were changed elsewhere; undefined if there are none. */
  load: (() => void) | undefined
}

/** The state of a form. It follows the server's settings until the user edits them. */
export function useEdited<T extends object>(
  known: T,
  asSent: (draft: T) => T = (draft) => draft,
): Edited<T> {
  const [begun, setBegun] = useState(known)
  const [draft, setDraft] = useState(known)
  const [isSaving, setSaving] = useState(false)
  const edited = asSent(draft)
  // While saving, a read may already return the sent settings.
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
