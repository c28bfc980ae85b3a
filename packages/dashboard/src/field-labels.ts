/** The label of a field in the forms, and what to enter if the server refuses a value without a reason. */
interface FieldLabel {
  label: string
  hint?: string
}

/** The fields of the forms, by their names in the API. */
export const FIELD_LABELS: Readonly<Record<string, FieldLabel>> = {
  name: { label: 'Name', hint: 'Enter up to 100 printable characters.' },
  repositories: { label: 'Repositories' },
  every: { label: 'Repeats' },
  weekday: { label: 'Repeats' },
  at: { label: 'At', hint: 'Enter a time.' },
  time_zone: { label: 'Time zone', hint: 'Enter a time zone such as Europe/Zurich.' },
  keep: { label: 'Archives to keep', hint: 'Enter a number from 1 to 100.' },
  url: { label: 'Payload URL' },
  content_type: { label: 'Content type' },
  secret: { label: 'Secret' },
  events: { label: 'Events' },
  expires_in_days: { label: 'Expires after' },
  organization: { label: 'Valid for' },
  actor: { label: 'Actor' },
  action: { label: 'Action' },
  subject: { label: 'Subject' },
  since: { label: 'From day', hint: 'Enter a date.' },
  until: { label: 'To day', hint: 'Enter a date.' },
}
