/** A request that has been answered, as it is logged and counted. */
export interface Answered {
  id: string
  method: string
  url: string
  /** Its pattern, never its path; undefined where no route is. */
  route: string | undefined
  status: number
  ms: number
  login: string | undefined
  ip: string
}

export type NoteAnswered = (answered: Answered) => void
