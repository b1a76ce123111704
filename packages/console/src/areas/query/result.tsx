/** The result of a statement: what happened, as rows, as a chart or as a plan, once or live. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { ChartView } from '../../chart/chart.tsx'
import { suitableKind } from '../../chart/choose.ts'
import { findZone } from '../../chart/statement-zone.ts'
import { type Connection, connection, may } from '../../gate.ts'
import { rowsAs } from '../../grid/copy.ts'
import { type ActiveCell, Grid } from '../../grid/grid.tsx'
import type { GridModel } from '../../grid/model.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Badge,
  Button,
  bytes,
  Copy,
  copyText,
  count,
  duration,
  Empty,
  ErrorNotice,
  FILE_FORMATS,
  Icon,
  LicenceBadges,
  Loading,
  Menu,
  Notice,
  rowCount,
  Segments,
  Spinner,
  Switch,
  useLoad,
  useSlow,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { AddToBoardProps } from './add-to-board.tsx'
import { AlertButton } from './alert-button.tsx'
import { ChartPanel } from './chart-panel.tsx'
import { download, startDownload } from './download.ts'
import type { KeepViewProps } from './keep-view.tsx'
import { type LiveState, openLive } from './live-result.ts'
import { METHODS, Plan } from './plan.tsx'
import { MOST_ROWS, type Outcome, type OutcomeState } from './run.ts'
import { type QueryTab, tabTitle } from './tabs.ts'

export interface ResultProps {
  readonly outcome: Outcome
  readonly tab: QueryTab
  /** What it is called among several that are shown; by default it is the result of the tab. */
  readonly label?: string | undefined
  readonly onChart: (view: ChartView) => void
  readonly onLive: (live: boolean) => void
}

export function Result(props: ResultProps) {
  const { outcome, tab, label, onChart, onLive } = props
  const { chart, live } = tab
  const name = tabTitle(tab)
  const state = outcome.state.value
  const isQuery = outcome.kind === 'query'
  const following = useLive(outcome, live && isQuery && state.kind === 'done')
  const isPlan = useSignal(false)
  const marked = useSignal<ActiveCell | undefined>(undefined)
  const model = following?.kind === 'live' ? following.model : outcome.model.value
  const view = isPlan.value ? 'plan' : chart.view === 'table' ? 'table' : 'chart'
  return (
    <section class="query-result" aria-label={label ?? 'Result'}>
      <div class="query-result-bar">
        <Summary outcome={outcome} state={state} model={model} following={following} />
        {isQuery && state.kind !== 'failed' && (
          <div class="query-result-tools">
            <Switch label="Live" checked={live} onChecked={onLive} />
            <AlertButton outcome={outcome} tab={tab} marked={marked} />
            <Segments
              label="How the result is shown"
              value={view}
              onValue={(wanted) => {
                isPlan.value = wanted === 'plan'
                if (wanted === 'table') onChart({ ...chart, view: 'table' })
                if (wanted === 'chart' && chart.view === 'table')
                  onChart({ ...chart, view: suitableKind(model?.columns ?? []) })
              }}
              choices={[
                { value: 'table', title: 'Table' },
                { value: 'chart', title: 'Chart' },
                { value: 'plan', title: 'Plan' },
              ]}
            />
            {model !== undefined && <ResultMenus outcome={outcome} model={model} tab={tab} />}
          </div>
        )}
      </div>
      {following?.kind === 'failed' && <NotLive error={following.error} onOff={() => onLive(false)} />}
      {outcome.isCut.value && following?.kind !== 'live' && (
        <Notice kind="warning">
          {`Only the first ${count(MOST_ROWS)} rows are shown, the most a page can hold. Download the result to get all of it.`}
        </Notice>
      )}
      <div class="query-result-body">
        {state.kind === 'failed' ? (
          <div class="query-result-message">
            <ErrorNotice error={state.error} title="The statement failed" />
          </div>
        ) : view === 'plan' ? (
          <Plan outcome={outcome} />
        ) : model === undefined ? (
          <Without state={state} />
        ) : view === 'chart' ? (
          <ChartPanel
            {...{ model, view: chart, onView: onChart, label: `Chart of ${name}`, statement: outcome.text }}
            zone={findZone(outcome.text, outcome.parameters)}
          />
        ) : (
          <Rows
            model={model}
            isComplete={state.kind !== 'running'}
            name={name}
            onActive={(cell) => {
              marked.value = cell
            }}
          />
        )}
      </div>
    </section>
  )
}

/** Opened when the switch is on and the statement has been run; ended with the component. */
function useLive(outcome: Outcome, isWanted: boolean): LiveState | undefined {
  const live = useMemo(() => (isWanted ? openLive(outcome.text, outcome.parameters) : undefined), [isWanted, outcome])
  useEffect(() => () => live?.close(), [live])
  return live?.state.value
}

const STATES: Readonly<Record<Connection['state'], string>> = {
  connecting: word('connecting'),
  online: '',
  lapsed: word('lapsed'),
  offline: word('offline'),
  ended: word('ended'),
}

function Summary({
  outcome,
  state,
  model,
  following,
}: {
  readonly outcome: Outcome
  readonly state: OutcomeState
  readonly model: GridModel | undefined
  readonly following: LiveState | undefined
}) {
  model?.version.value
  const rows = model === undefined ? undefined : rowCount(model.total)
  const requestId = outcome.requestId.value
  return (
    <div class="query-summary">
      {following?.kind === 'live' ? (
        <>
          {connection.value.state === 'online' ? (
            <Badge kind="good">Live</Badge>
          ) : (
            <Badge kind="warning">Not up to date: {STATES[connection.value.state]}</Badge>
          )}
          <span title={METHODS.get(following.method)}>
            {rows} · {following.changes === 1 ? '1 change' : `${count(following.changes)} changes`} ·{' '}
            <abbr title={METHODS.get(following.method)}>{`by ${following.method}`}</abbr>
          </span>
        </>
      ) : (
        <StateSummary state={state} rows={rows} since={outcome.startedAt} />
      )}
      {following?.kind === 'live' ? (
        <LicenceBadges labels={following.licences} asOf={following.asOf} />
      ) : (
        <LicenceBadges labels={outcome.licences.value} asOf={outcome.licences.value.find(({ asOf }) => asOf)?.asOf} />
      )}
      {following?.kind === 'opening' && <Spinner />}
      {requestId !== undefined && requestId !== '' && following?.kind !== 'live' && state.kind !== 'failed' && (
        <span class="query-request">
          <span class="quiet" title={requestId}>
            Request <code>{requestId.slice(0, 8)}</code>
          </span>
          <Copy text={requestId} label="Copy the request id" />
        </span>
      )}
    </div>
  )
}

function StateSummary({
  state,
  rows,
  since,
}: {
  readonly state: OutcomeState
  readonly rows: string | undefined
  readonly since: number
}): ComponentChildren {
  switch (state.kind) {
    case 'running':
      return <Running rows={rows} since={since} />
    case 'cancelled':
      return (
        <>
          <Badge kind="warning">Cancelled</Badge>
          <span>{[rows, duration(state.milliseconds)].filter((fact) => fact !== undefined).join(' · ')}</span>
        </>
      )
    case 'failed':
      return (
        <>
          <Badge kind="danger">Failed</Badge>
          <span>{duration(state.milliseconds)}</span>
        </>
      )
    case 'done': {
      const written = state.rowsAffected === undefined ? undefined : `${rowCount(state.rowsAffected)} affected`
      return <span>{[written ?? rows ?? word('Done'), duration(state.milliseconds)].join(' · ')}</span>
    }
  }
}

function Running({ rows, since }: { readonly rows: string | undefined; readonly since: number }) {
  const isSlow = useSlow(true)
  const now = useSignal(performance.now())
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = performance.now()
    }, 200)
    return () => clearInterval(timer)
  }, [])
  if (!isSlow) return <span />
  return (
    <>
      <Spinner />
      <span>{[rows, duration(Math.max(0, now.value - since))].filter((fact) => fact !== undefined).join(' · ')}</span>
    </>
  )
}

function Without({ state }: { readonly state: OutcomeState }) {
  if (state.kind === 'running') return <Loading>Waiting for the first rows …</Loading>
  if (state.kind === 'cancelled')
    return (
      <Empty icon="stop" title="Cancelled before there was a result">
        Run the statement again, or narrow it with WHERE or LIMIT.
      </Empty>
    )
  const { rowsAffected } = state as { rowsAffected?: number }
  const title = rowsAffected === undefined ? word('Done') : `${rowCount(rowsAffected)} affected`
  return (
    <Empty icon="check" title={title}>
      The statement returns no rows.
    </Empty>
  )
}

function Rows({
  model,
  isComplete,
  name,
  onActive,
}: {
  readonly model: GridModel
  readonly isComplete: boolean
  readonly name: string
  readonly onActive: (cell: ActiveCell | undefined) => void
}) {
  model.version.value
  return (
    <>
      <Grid model={model} label={`Rows of ${name}`} onActive={onActive} />
      {isComplete && model.total === 0 && <p class="query-no-rows quiet">No rows match the statement.</p>}
    </>
  )
}

function NotLive({ error, onOff }: { readonly error: unknown; readonly onOff: () => void }) {
  return (
    <div class="query-not-live">
      <ErrorNotice error={error} title="This result cannot be live" />
      <Button size="small" onClick={onOff}>
        Switch off
      </Button>
    </div>
  )
}

function ResultMenus({
  outcome,
  model,
  tab,
}: {
  readonly outcome: Outcome
  readonly model: GridModel
  readonly tab: QueryTab
}) {
  const isAdding = useSignal(false)
  const isKeeping = useSignal(false)
  const name = tabTitle(tab)
  const copy = async (format: 'tsv' | 'json' | 'csv') => {
    try {
      await copyText(rowsAs(model, format))
      toast(`${rowCount(model.size)} copied as ${format.toUpperCase()}`)
    } catch (error) {
      toastError(error, 'The rows could not be copied')
    }
  }
  const loading = download.value
  return (
    <>
      <Menu
        label="Copy rows"
        class="button small"
        items={(['tsv', 'json', 'csv'] as const).map((format) => ({
          title: `Copy as ${format.toUpperCase()}`,
          icon: 'copy',
          act: () => void copy(format),
        }))}
      >
        Copy
        <Icon name="down" class="menu-arrow" />
      </Menu>
      {loading === undefined ? (
        <Menu
          label="Download the whole result"
          class="button small"
          items={FILE_FORMATS.map((format) => ({
            title: `Download ${format.title}`,
            icon: 'download',
            act: () => void startDownload(outcome, format, name),
          }))}
        >
          Download
          <Icon name="down" class="menu-arrow" />
        </Menu>
      ) : (
        <Button size="small" icon="stop" onClick={loading.cancel}>
          {loading.title}: {bytes(loading.bytes)}
        </Button>
      )}
      <Button
        size="small"
        icon="board"
        aria-label="Add to board"
        onClick={() => {
          isAdding.value = true
        }}
      >
        <span class="query-wide">Add to board</span>
      </Button>
      {may('Platform/Admin') && GROUPED.test(outcome.text) && (
        <Button
          size="small"
          icon="table"
          title="Stores the rows in a materialized view, which follows its table"
          onClick={() => {
            isKeeping.value = true
          }}
        >
          Keep this
        </Button>
      )}
      {isKeeping.value && (
        <KeepView
          outcome={outcome}
          onClose={() => {
            isKeeping.value = false
          }}
        />
      )}
      {isAdding.value && (
        <AddToBoard
          tab={tab}
          outcome={outcome}
          onClose={() => {
            isAdding.value = false
          }}
        />
      )}
    </>
  )
}

/** A statement that groups rows: its result can be kept. The server says what else it needs. */
const GROUPED = /\bgroup\s+by\b|\blatest\s+on\b/i

/** Loaded when it is first opened. */
function KeepView(props: KeepViewProps) {
  const { data, error } = useLoad(() => import('./keep-view.tsx'), [])
  useEffect(() => {
    if (error === undefined) return
    toastError(error, 'The dialog could not be loaded')
    props.onClose()
  }, [error])
  return data === undefined ? null : <data.KeepView {...props} />
}

/** Loaded when it is first opened. */
function AddToBoard(props: AddToBoardProps) {
  const { data, error } = useLoad(() => import('./add-to-board.tsx'), [])
  useEffect(() => {
    if (error === undefined) return
    toastError(error, 'The dialog could not be loaded')
    props.onClose()
  }, [error])
  return data === undefined ? null : <data.AddToBoard {...props} />
}
