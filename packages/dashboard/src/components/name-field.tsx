import { FormControl, TextInput } from '@primer/react'

interface NameFieldProps {
  name: string | null
  onChange(name: string | null): void
}

/** The optional name of a migration, or of the migrations of a schedule. */
export function NameField({ name, onChange }: NameFieldProps) {
  return (
    <FormControl>
      <FormControl.Label>Name (optional)</FormControl.Label>
      <TextInput
        block
        maxLength={100}
        value={name ?? ''}
        onChange={(event) => onChange(event.target.value || null)}
      />
      <FormControl.Caption>
        Shown in lists, and part of the file name of the archive.
      </FormControl.Caption>
    </FormControl>
  )
}
