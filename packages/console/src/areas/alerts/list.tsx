/** The list of the user's alerts. */
import { useEffect } from 'preact/hooks'
import type { Alert } from '../../../../client/src/index.ts'
import { attempt } from '../../admin/tagged.ts'
import { StateBadge } from '../../alerts/states.tsx'
import { gate } from '../../gate.ts'
import { canPush, pushId, readPush, startPush, stopPush } from '../../push.ts'
import { href } from '../../shell/router.ts'
import { Await, ButtonLink, Empty, IconButton, Page, Switch, Table, Time, useLoad } from '../../ui/index.ts'
import { AlertTabs } from './tabs.tsx'

const REFRESH_MS = 10_000

export function AlertList() {
  const alerts = useLoad((signal) => Array.fromAsync(gate.alerts.list({}, { signal })), [])
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') alerts.reload()
    }, REFRESH_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <Page
      title="Alerts"
      bar={<AlertTabs current="alerts" />}
      actions={
        <>
          {canPush() && <PushSwitch />}
          <IconButton icon="refresh" label="Load again" onClick={alerts.reload} />
        </>
      }
    >
      <Await of={alerts} title="The alerts could not be loaded">
        {(items) =>
          items.length === 0 ? (
            <Empty
              icon="bell"
              title="There are no alerts yet"
              actions={<ButtonLink href={href('query')}>Write a query</ButtonLink>}
            >
              Run a query, mark a cell, and choose Alert beside Live.
            </Empty>
          ) : (
            <Table<Alert>
              label="Alerts"
              rows={items}
              rowKey={({ id }) => id}
              rowHref={({ id }) => href('alerts', id)}
              columns={[
                { title: 'Alert', cell: ({ name }) => name },
                { title: 'State', cell: ({ state }) => <StateBadge state={state} /> },
                {
                  title: 'Fires when',
                  wide: true,
                  cell: ({ when }) => when !== undefined && <code>{when}</code>,
                },
                { title: 'Tells', wide: true, cell: ({ channels }) => channels.join(', ') },
                { title: 'Changed', wide: true, cell: ({ updated }) => <Time at={updated} as="relative" /> },
              ]}
            />
          )
        }
      </Await>
    </Page>
  )
}

/** Whether this browser shows what is sent to "Your browsers". */
function PushSwitch() {
  useEffect(() => void readPush(), [])
  const change = (isOn: boolean) =>
    attempt(
      isOn ? startPush : stopPush,
      isOn ? 'This browser gets notices from now on' : 'This browser gets no more notices',
    )
  return (
    <Switch label="Tell this browser" checked={pushId.value !== undefined} onChecked={(isOn) => void change(isOn)} />
  )
}
