/** A tile of a board: its title, and the result of its statement as a table or chart. */
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Tile as TileOf } from '../../../../client/src/index.ts'
import { Chart, type ChartView } from '../../chart/chart.tsx'
import { findZone } from '../../chart/statement-zone.ts'
import { Grid } from '../../grid/grid.tsx'
import type { GridModel } from '../../grid/model.ts'
import { Button, classes, Empty, explain, IconButton, LicenceBadges, Loading, Time } from '../../ui/index.ts'
import { offlineSince, TileResult, type TileStatement } from './result.ts'
import { choosingIn, type RowChoice, useAsChoices } from './variables.tsx'

export interface TileProps {
  readonly tile: Omit<TileOf, 'position'>
  /** Seconds between two runs of a statement that is not live. */
  readonly every: number | undefined
  readonly choice?: RowChoice | undefined
  /** Before the title and at the end of the header, while the board is edited. */
  readonly before?: ComponentChildren
  readonly after?: ComponentChildren
}

export function Tile({ tile, every, choice, before, after }: TileProps) {
  const result = useResult(tile, every)
  useAsChoices(result)
  const { title, live = false } = tile
  const isStale = live && offlineSince.value !== undefined
  return (
    <>
      <header class="tile-header">
        {before}
        <h2 title={title}>{title}</h2>
        <LicenceBadges labels={result.state.value.licences} />
        <Freshness result={result} live={live} />
        {after}
      </header>
      <div class={classes('tile-body', isStale && 'stale')}>
        <TileContent tile={tile} result={result} choice={choice} />
      </div>
    </>
  )
}

/** Runs while it is shown; another statement is another result. */
export function useResult(tile: TileStatement, every: number | undefined): TileResult {
  const { statement, parameters, view, live } = tile
  const inputs = [statement, JSON.stringify(parameters), view === 'table', live, every]
  const result = useMemo(() => new TileResult(tile, every), inputs)
  useEffect(() => () => result.close(), [result])
  return result
}

export function TileContent({
  tile,
  result,
  choice,
  onView,
}: {
  readonly tile: Omit<TileOf, 'position'>
  readonly result: TileResult
  readonly choice?: RowChoice | undefined
  readonly onView?: (view: ChartView) => void
}) {
  const { model, error, isTruncated } = result.state.value
  if (error !== undefined) return <TileError error={error} onRetry={() => result.run()} />
  if (model === undefined) return <Loading />
  if (tile.view !== 'table') {
    const zone = findZone(tile.statement, tile.parameters)
    return <Chart model={model} view={tile} label={tile.title} zone={zone} onView={onView} />
  }
  return (
    <>
      <Rows model={model} tile={tile} choice={choice} />
      {isTruncated && <p class="tile-remark">Only the first rows are shown: results are limited in size</p>}
    </>
  )
}

function Rows({
  model,
  tile: { title, parameters },
  choice,
}: {
  readonly model: GridModel
  readonly tile: Omit<TileOf, 'position'>
  readonly choice: RowChoice | undefined
}) {
  model.version.value
  if (model.size === 0 && model.filters.value.size === 0)
    return (
      <Empty icon="table" title="No rows match">
        Rows appear here when the statement finds some.
      </Empty>
    )
  const choosing = choice && choosingIn(model, parameters, choice)
  return <Grid model={model} label={title} choosing={choosing} fill types={false} numbers={false} />
}

function TileError({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const { message, code, hint, requestId, caret } = explain(error)
  return (
    <div class="tile-error" role="alert">
      <p>
        <strong>{message}</strong>
      </p>
      {caret !== undefined && <pre class="caret">{caret}</pre>}
      {hint !== undefined && <p class="quiet">{hint}</p>}
      <p class="tile-error-facts">
        <code>{[code, requestId && `request ${requestId}`].filter(Boolean).join(' · ')}</code>
        <Button size="small" icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      </p>
    </div>
  )
}

/** How new the rows are. */
function Freshness({ result, live }: { readonly result: TileResult; readonly live: boolean }) {
  const { at, error, isRunning, model } = result.state.value
  if (error !== undefined || model === undefined) return null
  if (live) {
    const since = offlineSince.value
    return since === undefined ? (
      <span class="tile-live" title="Changes are shown as they happen">
        Live
      </span>
    ) : (
      <span class="tile-live off" title="No connection: what is shown is as old as this">
        Offline · <Time at={since} as="age" />
      </span>
    )
  }
  return (
    <span class="tile-age">
      <Time at={at} as="time" />
      <IconButton icon="refresh" label="Run again" size="small" disabled={isRunning} onClick={() => result.run()} />
    </span>
  )
}
