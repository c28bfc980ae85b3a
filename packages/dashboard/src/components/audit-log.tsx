import { auditActions } from '@godwit/contract/schemas/audit-actions'
import { Button, FormControl, Select, TextInput } from '@primer/react'
import { type FormEvent, useState } from 'react'
import type { AuditQuery } from '../api.ts'
import type { AuditEntry } from '../api-types.ts'
import { failureOf } from '../failure.ts'
import { useFilters } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import { announce } from './announcements.tsx'
import styles from './audit-log.module.css'
import { LoadingRows } from './loading.tsx'
import { Moment } from './moment.tsx'
import { outOfDate } from './out-of-date.tsx'
import { Problem } from './problem.tsx'
import { Table } from './table.tsx'

const EVERY_MS = 30_000
const EMPTY: AuditQuery = { actor: '', action: '', subject: '', since: '', until: '' }

/** The audit log with its filters: of the whole service, or the user's own part. */
export function AuditLog({ whose }: { whose: 'all' | 'own' }) {
  const { api } = useSignedIn()
  const [filter, setFilter] = useFilters(EMPTY)
  // The cursors of the pages up to this one. The first page has none.
  const [cursors, setCursors] = useState([''])
  const cursor = cursors.at(-1)!
  const query = queryOf(filter)
  const { response, failure, refresh } = useResource<AuditEntry[]>(
    (options) => api.audit(whose, query, cursor, options),
    JSON.stringify([whose, query, cursor]),
    EVERY_MS,
  )

  async function download(): Promise<void> {
    try {
      const url = URL.createObjectURL(await api.auditLines(whose, query))
      const link = Object.assign(document.createElement('a'), {
        href: url,
        download: 'audit.jsonl',
      })
      link.click()
      URL.revokeObjectURL(url)
    } catch (error) {
      announce(`The audit log could not be downloaded: ${failureOf(error).message}`)
    }
  }

  return (
    <div className={styles.sections}>
      <Filters
        hasActor={whose === 'all'}
        filter={filter}
        onChange={(next) => {
          setFilter(next)
          setCursors([''])
        }}
      />
      {!response && failure && <Problem isPart failure={failure} onRetry={refresh} />}
      {!response && !failure && <LoadingRows what="Loading the audit log" />}
      {response && (
        <Table
          title="Entries"
          columns={['Time', 'Who', 'Action', 'What', 'Outcome', 'From']}
          emptyText="No entries."
          {...(failure && { note: outOfDate(failure) })}
          rows={response.data.map((each) => ({
            key: each.id,
            cells: [
              <Moment key="at" at={each.at} />,
              each.token ? `${each.actor} (${each.token})` : each.actor,
              each.action,
              each.subject ?? '—',
              each.outcome,
              each.address ?? '—',
            ],
          }))}
        />
      )}
      <div className={styles.row}>
        <Button disabled={cursors.length === 1} onClick={() => setCursors(cursors.slice(0, -1))}>
          Newer
        </Button>
        <Button
          disabled={response?.next === undefined}
          onClick={() => setCursors([...cursors, response!.next!])}
        >
          Older
        </Button>
        <Button onClick={() => void download()}>Download as JSON lines</Button>
      </div>
    </div>
  )
}

/** Returns the filters that are set. The last day is included; the server refuses an invalid one. */
function queryOf({ until, ...filter }: AuditQuery): Partial<AuditQuery> {
  const end = new Date(Date.parse(until) + 24 * 3_600_000)
  const isValid = !Number.isNaN(end.getTime())
  const set = Object.entries({ ...filter, until: isValid ? end.toISOString() : until }).filter(
    ([, value]) => value !== '',
  )
  return Object.fromEntries(set)
}

interface FiltersProps {
  hasActor: boolean
  /** The filter at first. */
  filter: AuditQuery
  onChange(filter: AuditQuery): void
}

function Filters({ hasActor, filter, onChange }: FiltersProps) {
  const [draft, setDraft] = useState(filter)
  const field = (name: keyof AuditQuery, label: string, type: 'text' | 'date' = 'text') => (
    <FormControl>
      <FormControl.Label>{label}</FormControl.Label>
      <TextInput
        type={type}
        autoComplete="off"
        value={draft[name]}
        onChange={(event) => setDraft({ ...draft, [name]: event.target.value.trimStart() })}
      />
    </FormControl>
  )
  return (
    <form
      className={styles.row}
      aria-label="Filters of the audit log"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        onChange(draft)
      }}
    >
      {hasActor && field('actor', 'Actor')}
      <FormControl>
        <FormControl.Label>Action</FormControl.Label>
        <Select
          value={draft.action}
          onChange={(event) => setDraft({ ...draft, action: event.target.value })}
        >
          <Select.Option value="">All actions</Select.Option>
          {auditActions.map((action) => (
            <Select.Option key={action} value={action}>
              {action}
            </Select.Option>
          ))}
        </Select>
      </FormControl>
      {field('subject', 'Subject')}
      {field('since', 'From day', 'date')}
      {field('until', 'To day', 'date')}
      <Button type="submit">Filter</Button>
    </form>
  )
}
