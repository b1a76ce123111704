/** One alert: its state and keys, what has happened, what was sent, and what can be done with it. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Alert, AlertDelivery, AlertEvent } from '../../../../client/src/index.ts'
import { attempt, confirmAndAttempt } from '../../admin/tagged.ts'
import { AlertDialog } from '../../alerts/alert-dialog.tsx'
import { rowText, StateBadge } from '../../alerts/states.tsx'
import { gate } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { toast } from '../../shell/toasts.tsx'
import { Await, Badge, Button, Code, Facts, Menu, Notice, Page, Section, Table, Time, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'

const SHOWN = 50
const REFRESH_MS = 5_000
const PARENTS = [{ title: word('Alerts'), href: href('alerts') }]

interface Shown {
  readonly alert: Alert
  readonly history: readonly AlertEvent[]
  readonly deliveries: readonly AlertDelivery[]
}

export function AlertPage({ id }: { readonly id: string }) {
  const loaded = useLoad<Shown>((signal) => readAll(id, signal), [id])
  const isChanging = useSignal(false)
  const { data, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && !isChanging.peek()) reload()
    }, REFRESH_MS)
    return () => clearInterval(timer)
  }, [id])
  return (
    <Page
      title={data?.alert.name ?? word('Alert')}
      parents={PARENTS}
      afterTitle={data && <StateBadge state={data.alert.state} />}
      actions={data && <Actions alert={data.alert} onChange={reload} onEdit={() => open(isChanging, true)} />}
    >
      <Await of={loaded} title="The alert could not be loaded">
        {(shown) => <Body {...shown} onChange={reload} />}
      </Await>
      {isChanging.value && data !== undefined && (
        <AlertDialog
          alert={data.alert}
          draft={{ ...data.alert, when: data.alert.when ?? '', parameters: data.alert.parameters ?? {} }}
          onClose={() => open(isChanging, false)}
          onDone={() => {
            open(isChanging, false)
            toast('The alert was changed')
            reload()
          }}
        />
      )}
    </Page>
  )
}

function open(field: { value: boolean }, isOpen: boolean): void {
  field.value = isOpen
}

async function readAll(id: string, signal: AbortSignal): Promise<Shown> {
  const [alert, history, deliveries] = await Promise.all([
    gate.alerts.get(id, { signal }),
    take(gate.alerts.history(id, { signal })),
    take(gate.alerts.deliveries(id, { signal })),
  ])
  return { alert, history, deliveries }
}

async function take<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const taken: Item[] = []
  for await (const item of items) {
    taken.push(item)
    if (taken.length === SHOWN) break
  }
  return taken
}

function Actions({
  alert,
  onChange,
  onEdit,
}: {
  readonly alert: Alert
  readonly onChange: () => void
  readonly onEdit: () => void
}) {
  const { id, name, paused, silences = [] } = alert
  const change = async (work: () => Promise<unknown>, done: string) => {
    if (await attempt(work, done)) onChange()
  }
  const remove = async () => {
    const isRemoved = await confirmAndAttempt(
      {
        title: `Delete ${name}?`,
        text: 'What waits to be delivered is dropped, and its history is gone.',
        action: 'Delete',
      },
      () => gate.alerts.delete(id),
      `${name} was deleted`,
    )
    if (isRemoved) go(href('alerts'), { replace: true })
  }
  const silence = (time: string) => void change(() => gate.alerts.silence(id, { for: time }), 'It is silent')
  return (
    <>
      <Button icon="edit" onClick={onEdit}>
        Change
      </Button>
      {paused ? (
        <Button
          icon="play"
          onClick={() => void change(() => gate.alerts.update(id, { paused: false }), `${name} goes on`)}
        >
          Resume
        </Button>
      ) : (
        <Button
          icon="pause"
          onClick={() => void change(() => gate.alerts.update(id, { paused: true }), `${name} is paused`)}
        >
          Pause
        </Button>
      )}
      <Menu
        label="More"
        items={[
          { title: 'Send a test', icon: 'bolt', act: () => void change(() => gate.alerts.test(id), 'A test was sent') },
          { title: 'Open in Query', icon: 'query', href: href('query', { q: alert.statement }) },
          'line',
          { title: 'Silent for 1 hour', icon: 'moon', act: () => silence('1 hour') },
          { title: 'Silent for 8 hours', icon: 'moon', act: () => silence('8 hours') },
          { title: 'Silent for 7 days', icon: 'moon', act: () => silence('7 days') },
          {
            title: 'End the silence',
            icon: 'bell',
            disabled: silences.length === 0,
            act: () => void change(() => gate.alerts.unsilence(id), 'Notices are sent again'),
          },
          'line',
          { title: 'Delete', icon: 'trash', danger: true, act: () => void remove() },
        ]}
      />
    </>
  )
}

function Body({ alert, history, deliveries, onChange }: Shown & { readonly onChange: () => void }) {
  const { instances = [], silences = [], error } = alert
  return (
    <>
      {error !== null && <Notice kind="warning">{error}</Notice>}
      {silences.map(({ until, key }) => (
        <Notice key={`${until} ${key}`} kind="info">
          {key === undefined ? 'No notices' : `No notices of ${rowText(key)}`} until <Time at={until} />.
        </Notice>
      ))}
      <Section title="Now">
        {instances.length === 0 ? (
          <p class="quiet">No key is pending or firing.</p>
        ) : (
          <Table
            label="Keys"
            rows={instances}
            rowKey={({ key }) => JSON.stringify(key)}
            columns={[
              { title: 'Key', cell: ({ key }) => (key === null ? 'no row matches' : rowText(key)) },
              { title: 'State', cell: ({ state }) => <StateBadge state={state} /> },
              { title: 'Since', cell: ({ since }) => <Time at={since} as="relative" /> },
              { title: 'Row', wide: true, cell: ({ row }) => rowText(row) },
            ]}
          />
        )}
      </Section>
      <Section title="What it watches">
        <Code label="Statement" text={alert.statement} />
        <Facts of={facts(alert)} />
      </Section>
      <Section title="History">
        {history.length === 0 ? <p class="quiet">Nothing has happened yet.</p> : <History events={history} />}
      </Section>
      <Section title="Deliveries">
        {deliveries.length === 0 ? (
          <p class="quiet">There was nothing to send yet.</p>
        ) : (
          <Deliveries alert={alert.id} items={deliveries} onChange={onChange} />
        )}
      </Section>
    </>
  )
}

function facts(alert: Alert): readonly (readonly [string, string])[] {
  const { when, until, for: lasting, keep_firing: keeps, elapsed, repeat, absent, group, zone, title, channels } = alert
  const given: readonly (readonly [string, string | undefined])[] = [
    ['Each key', alert.mode === 'event' ? word('is sent once, when it comes to match') : word('begins and ends')],
    ['Fires when', when ?? word('there is a row')],
    ['Ends when', until],
    ['Only if it lasts', lasting],
    ['Ends only if that lasts', keeps],
    ['At least between deliveries', elapsed],
    ['Tell again while it fires', repeat],
    ['Fires if there is nothing for', absent],
    ['Deliveries wait', group],
    ['Hours', alert.active?.map(({ days = [], from, to }) => [days.join(' '), `${from}–${to}`].join(' ')).join(', ')],
    ['Time zone', zone],
    ['Title', title],
    ['Tell', channels.join(', ') || word('nobody')],
  ]
  return given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

const EVENTS: Readonly<Record<AlertEvent['type'], string>> = {
  firing: word('Began'),
  resolved: word('Ended'),
  event: word('Matched'),
  error: word('Failed'),
  recovered: word('Recovered'),
}

function History({ events }: { readonly events: readonly AlertEvent[] }) {
  return (
    <Table
      label="History"
      rows={events}
      rowKey={({ seq }) => String(seq)}
      columns={[
        { title: 'When', cell: ({ at }) => <Time at={at} as="relative" /> },
        { title: 'What', cell: ({ type }) => EVENTS[type] },
        { title: 'Key', cell: ({ key }) => rowText(key) },
        { title: 'Row', wide: true, cell: ({ row }) => rowText(row) },
      ]}
    />
  )
}

const DELIVERY_STATES: Readonly<Record<AlertDelivery['state'], string>> = {
  waiting: word('waiting'),
  sent: word('sent'),
  dead: word('given up'),
  dropped: word('dropped'),
}
const DELIVERY_KINDS = { waiting: 'accent', sent: 'good', dead: 'danger', dropped: undefined } as const

function Deliveries({
  alert,
  items,
  onChange,
}: {
  readonly alert: string
  readonly items: readonly AlertDelivery[]
  readonly onChange: () => void
}) {
  const retry = async ({ id }: AlertDelivery) => {
    if (await attempt(() => gate.alerts.retry(alert, id), 'It is tried again')) onChange()
  }
  return (
    <Table
      label="Deliveries"
      rows={items}
      rowKey={({ id }) => id}
      columns={[
        { title: 'Made', cell: ({ created }) => <Time at={created} as="relative" /> },
        { title: 'To', cell: ({ channel }) => channel },
        { title: 'State', cell: (item) => <DeliveryState {...item} /> },
        { title: 'Attempts', wide: true, cell: ({ attempts }) => attempts },
        {
          title: 'Next attempt',
          wide: true,
          cell: ({ next }) => (next === null ? '–' : <Time at={next} as="relative" />),
        },
        {
          title: 'Actions',
          kind: 'actions',
          cell: (item) =>
            item.state === 'dead' && (
              <Button size="small" onClick={() => void retry(item)}>
                Try again
              </Button>
            ),
        },
      ]}
    />
  )
}

function DeliveryState({ state, error, joined }: AlertDelivery) {
  const kind = DELIVERY_KINDS[state]
  return (
    <>
      <Badge {...(kind !== undefined && { kind })}>{DELIVERY_STATES[state]}</Badge>
      {joined > 0 && <span class="quiet"> {joined === 1 ? 'with 1 more' : `with ${joined} more`}</span>}
      {error !== null && <p class="quiet alert-error">{error}</p>}
    </>
  )
}
