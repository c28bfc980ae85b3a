import { readFile } from 'node:fs/promises'
import { type PeopleMap, parsePeopleCsv } from '@godwit/archive/formats/people'
import { UserError } from '@godwit/lib/user-error'

/** Describes the argument of a command that reads an archive. */
export const ARCHIVE = 'a file, or a directory that it was unpacked into'
export const ARCHIVE_OR_STDIN = `${ARCHIVE}; - for standard input`

/** Reads the file of `--people`. Mistakes in it are reported as warnings. Throws UserError if it has values that cannot be logins. */
export async function readPeople(
  file: string | undefined,
  refusal: (login: string) => string | undefined,
  warn: (warning: string) => void,
): Promise<PeopleMap> {
  if (file === undefined) return new Map()
  const text = await readFile(file, 'utf8')
  try {
    const { people, warnings } = parsePeopleCsv(text, refusal)
    for (const warning of warnings) warn(`${file}, ${warning}`)
    return people
  } catch (error) {
    if (error instanceof UserError) error.message = `${file}, ${error.message}`
    throw error
  }
}
