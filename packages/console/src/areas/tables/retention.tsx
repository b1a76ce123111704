/** How long the rows of a table are kept, what retention does now, and the hold that keeps all rows. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { read } from '../../admin/requests.ts'
import { gate, may } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Await, Badge, Button, Facts, Notice, rowCount, Section, Time, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { run } from './alter.tsx'
import type { TableDetail } from './catalogue.ts'
import { ChangeRetention } from './change-retention.tsx'
import { alterHold } from './statements.ts'

interface RetentionProps {
  readonly table: TableDetail
  readonly onDefined: () => void
}

/** As `GET /admin/retention/{table}` shows it. */
interface RetentionStatus {
  readonly horizon: string | null
  readonly cut: string | null
  readonly oldest: string | null
  readonly next: string | null
  readonly fault: string | null
}

export function RetentionPart({ table, onDefined }: RetentionProps) {
  const [isOpen, setOpen] = useState(false)
  const { retention } = table
  const onDone = () => {
    setOpen(false)
    onDefined()
  }
  return (
    <Section
      title="Retention"
      about={
        table.kept === undefined
          ? word('Rows that are too old are deleted. A hold keeps all of them.')
          : word('Rows that are too old are deleted.')
      }
      actions={
        table.rights.includes('alter') && (
          <>
            {table.kept === undefined && <HoldButton {...{ table, onDefined }} />}
            <Button size="small" icon="edit" onClick={() => setOpen(true)}>
              Change the retention
            </Button>
          </>
        )
      }
    >
      {retention && may('Platform/Admin') ? <State {...{ table, onDefined }} /> : <Facts of={listFacts(table)} />}
      {isOpen && <ChangeRetention table={table} onClose={() => setOpen(false)} onDone={onDone} />}
    </Section>
  )
}

function listFacts({ retention, hold, kept }: TableDetail): [string, ComponentChildren][] {
  return [
    ['Rows are kept', retention ? <KeptFor key="time" {...retention} /> : word('for ever')],
    ...(kept === undefined ? [heldFact(hold)] : []),
  ]
}

function heldFact(hold = false): [string, ComponentChildren] {
  return [word('Held'), hold ? <Badge kind="warning">no row can be deleted</Badge> : word('no')]
}

function KeptFor({ time, on }: { readonly time: string; readonly on: string }) {
  return (
    <>
      {time}, by <code>{on}</code>
    </>
  )
}

function HoldButton({ table: { name, hold = false }, onDefined }: RetentionProps) {
  const ask = async () => {
    const statement = alterHold(name, !hold)
    const lost = hold
      ? 'Its rows can be deleted again, and those that are too old are.'
      : 'Until it is released, none of its rows can be deleted, nor the table.'
    const isSure = await confirm({
      title: hold ? `Release ${name}?` : `Hold ${name}?`,
      text: word(`${lost} It runs: ${statement}`),
      action: hold ? 'Release' : 'Hold',
      danger: hold,
    })
    if (isSure && (await run(statement, hold ? word(`Released ${name}`) : word(`${name} is held`)))) onDefined()
  }
  return (
    <Button size="small" icon="lock" onClick={ask}>
      {hold ? 'Release' : 'Hold'}
    </Button>
  )
}

function State({ table, onDefined }: RetentionProps) {
  const { name, hold } = table
  const path = `/admin/retention/${encodeURIComponent(name)}`
  const status = useLoad((signal) => read<RetentionStatus>(path, signal), [table])
  return (
    <Await of={status}>
      {({ horizon, cut, oldest, next, fault }) => (
        <>
          {fault !== null && <Notice kind="warning">It stands still. {fault}</Notice>}
          <Facts
            of={[
              ...listFacts(table),
              ['Oldest row', <Time key="oldest" at={oldest} />],
              ['Closed before', <Time key="horizon" at={horizon} />],
              ['Deleted before', <Time key="cut" at={cut} />],
              [word('Next'), hold ? word('when it is released') : <Time key="next" at={next} />],
            ]}
          />
          {hold !== true && <RunNow path={path} onDone={onDefined} />}
        </>
      )}
    </Await>
  )
}

function RunNow({ path, onDone }: { readonly path: string; readonly onDone: () => void }) {
  const [isBusy, setBusy] = useState(false)
  const act = async () => {
    setBusy(true)
    try {
      const { Rows } = (await gate.json(`${path}/run`, { method: 'POST' })) as { readonly Rows: number }
      toast(Rows === 0 ? word('No row is too old') : `Deleted: ${rowCount(Rows)}`, { kind: 'good' })
      onDone()
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <div class="row">
      <Button size="small" icon="play" busy={isBusy} onClick={act}>
        Delete what is too old now
      </Button>
    </div>
  )
}
