/** The filters of the audit log; the current ones are in the URL of the page. */
import { useState } from 'preact/hooks'
import { Button, Form, Select, TextField } from '../../ui/index.ts'
import { type AuditFilter, FILTERS } from './audit-log.ts'
import { EVENTS, eventTitle, OUTCOMES } from './event-title.ts'

const RARE = ['client', 'address', 'since', 'until'] as const

export function AuditFilters({
  filter,
  onFilter,
}: {
  readonly filter: AuditFilter
  readonly onFilter: (filter: AuditFilter) => void
}) {
  const [given, setGiven] = useState<AuditFilter>(filter)
  const [all, setAll] = useState(RARE.some((name) => filter[name] !== undefined))
  const field = (name: (typeof FILTERS)[number]) => ({
    value: given[name] ?? '',
    onValue: (value: string) => setGiven({ ...given, [name]: value }),
  })
  const time = (name: 'since' | 'until') => ({
    value: toLocal(given[name]),
    onValue: (value: string) => setGiven({ ...given, [name]: value === '' ? '' : new Date(value).toISOString() }),
  })
  const apply = (next: AuditFilter) =>
    onFilter(
      Object.fromEntries(
        FILTERS.map((name) => [name, next[name]?.trim() ?? ''] as const).filter(([, value]) => value !== ''),
      ),
    )
  const form = (
    <Form class="audit-filters" onSubmit={() => apply(given)}>
      <TextField label="Event" placeholder="user.created, or token" list="audit-events" {...field('event')} />
      <datalist id="audit-events">
        {EVENTS.map((event) => (
          <option key={event} value={event}>
            {eventTitle(event)}
          </option>
        ))}
      </datalist>
      <TextField label="Actor" placeholder="Name or id" {...field('actor')} />
      <TextField label="Target" placeholder="Name or id" {...field('target')} />
      <Select label="Outcome" {...field('outcome')} choices={[{ value: '', title: 'Any' }, ...OUTCOMES]} />
      {all && (
        <>
          <TextField label="Application" placeholder="Client id" {...field('client')} />
          <TextField label="Address" placeholder="192.0.2.1" {...field('address')} />
          <TextField label="Since" type="datetime-local" {...time('since')} />
          <TextField label="Until" type="datetime-local" {...time('until')} />
        </>
      )}
      <div class="audit-apply">
        <Button type="submit" kind="primary" icon="filter">
          Filter
        </Button>
        {!all && (
          <Button kind="plain" onClick={() => setAll(true)}>
            More filters
          </Button>
        )}
        {Object.keys(filter).length > 0 && (
          <Button kind="plain" onClick={() => apply({})}>
            Clear
          </Button>
        )}
      </div>
    </Form>
  )
  // On a telephone the rows come first.
  if (!matchMedia(NARROW).matches) return form
  return (
    <details class="audit-fold" open={Object.keys(filter).length > 0 || undefined}>
      <summary>Filter the log</summary>
      {form}
    </details>
  )
}

/** As in the style sheet. */
const NARROW = '(max-width: 640px)'

/** As the control of the browser writes it: in the viewer's zone, without one. */
function toLocal(iso: string | undefined): string {
  const date = new Date(iso ?? '')
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
