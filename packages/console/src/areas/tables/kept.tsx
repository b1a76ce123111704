/** How far a materialized view is, read again while the page is shown; bringing it up to date, and evaluating all of it. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { statement } from '../../../../client/src/index.ts'
import { quoteName } from '../../editor/quote.ts'
import { gate } from '../../gate.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Badge, Button, count, Facts, Notice, Section } from '../../ui/index.ts'
import { usePolling } from '../../ui/polling.ts'
import { word } from '../../ui/word.ts'
import { type KeptState, readTable, type TableDetail } from './catalogue.ts'

const REST_MS = 2_000

export function KeptPart({ table, kept: first }: { readonly table: TableDetail; readonly kept: KeptState }) {
  const { name, rights } = table
  const { data, reload } = usePolling((signal) => readTable(name, signal), REST_MS, [name])
  const kept = data?.kept ?? first
  return (
    <Section
      title="Materialized view"
      about="Its rows are stored, and brought up to date after each commit of what it reads."
      actions={
        rights.includes('select') && (
          <>
            <Refresh title="Bring up to date" name={name} isFull={false} onDone={reload} />
            {rights.includes('alter') && <Refresh title="Evaluate all of it" name={name} isFull onDone={reload} />}
          </>
        )
      }
    >
      {kept.error !== null && <Notice kind="warning">{kept.error}</Notice>}
      <Facts of={listFacts(kept)} />
    </Section>
  )
}

function listFacts({ state, progress, behind, rows }: KeptState): [string, ComponentChildren][] {
  return [
    [word('State'), <State key="state" state={state} progress={progress} />],
    ...(rows === null ? [] : [['Rows', count(rows)] as [string, ComponentChildren]]),
    [word('Behind'), behind === null ? word('known to another node') : `${behind.toFixed(1)} s`],
  ]
}

function State({ state, progress }: Pick<KeptState, 'state' | 'progress'>) {
  switch (state) {
    case 'ready':
      return <Badge kind="good">ready</Badge>
    case 'building':
      return (
        <>
          <Badge kind="accent">building</Badge> {Math.round(progress * 100)} %
        </>
      )
    case 'failed':
      return <Badge kind="danger">failed</Badge>
  }
}

function Refresh({
  title,
  name,
  isFull,
  onDone,
}: {
  readonly title: string
  readonly name: string
  readonly isFull: boolean
  readonly onDone: () => void
}) {
  const [isBusy, setBusy] = useState(false)
  const act = async () => {
    setBusy(true)
    try {
      const text = `REFRESH MATERIALIZED VIEW ${quoteName(name)}`
      const { rowsAffected = 0 } = await gate.query(statement(isFull ? `${text} FULL` : text)).result()
      toast(isFull ? `Rows that were wrong: ${count(Number(rowsAffected))}` : `${name} is up to date`, { kind: 'good' })
      onDone()
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <Button size="small" busy={isBusy} onClick={act}>
      {title}
    </Button>
  )
}
