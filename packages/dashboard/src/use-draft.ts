import { type Dispatch, type SetStateAction, useState } from 'react'

interface Draft<T> {
  draft: T
  setDraft: Dispatch<SetStateAction<T>>
  /** Whether there is something to save. */
  isEdited: boolean
  /** Sends only the edited fields, because others may have been changed elsewhere. */
  save(send: (changes: Partial<T>) => Promise<void>): Promise<void>
  /** Replaces the edits by the settings that were changed elsewhere; undefined if there are none. */
  load: (() => void) | undefined
}

/** The state of a form. It follows the server's settings until the user edits them. */
export function useDraft<T extends object>(
  known: T,
  normalize: (draft: T) => T = (draft) => draft,
): Draft<T> {
  const [base, setBase] = useState(known)
  const [draft, setDraft] = useState(known)
  const [isSaving, setSaving] = useState(false)
  const edited = normalize(draft)
  // While saving, a read may already return the sent settings.
  const isChanged = !isSaving && !isSame(known, base)
  const isEdited = !isSame(edited, base) && !isSame(edited, known)

  function load(): void {
    setBase(known)
    setDraft(known)
  }
  if (isChanged && !isEdited) load()

  return {
    draft,
    setDraft,
    isEdited,
    async save(send) {
      setSaving(true)
      try {
        await send(changesOf(base, edited))
        setBase(edited)
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
