/** The legend: what each colour stands for, with the value at the crosshair, or else the last one. */
import { classes } from '../ui/index.ts'
import { numberText } from '../ui/number.ts'
import { markClass } from './colours.ts'
import type { Points, Series } from './points.ts'
import { compactText } from './ticks.ts'
import { valueAt, valueText, xText } from './words.ts'

export interface LegendProps {
  readonly points: Points
  /** Where the crosshair is. */
  readonly at: number | undefined
  readonly hidden: ReadonlySet<number>
  readonly onToggle: (index: number) => void
}

export function Legend({ points, at, hidden, onToggle }: LegendProps) {
  const { kind, scale, series, exactX } = points
  const candles = kind === 'candles' ? series.slice(0, 4) : []
  const averages = series.findIndex(({ role }) => role === 'average')
  return (
    <ul class={classes('chart-legend', candles.length > 0 && (averages === -1 ? 'one-row' : 'two-rows'))}>
      {scale === 'places' && at !== undefined && at < exactX.length && (
        <li class="chart-entry chart-when">{xText(exactX[at], points)}</li>
      )}
      {candles.length === 4 && <CandleEntries candles={candles} at={at} />}
      {series.map((one, index) =>
        index < candles.length ? null : (
          <li key={one.name}>
            <button
              type="button"
              class={classes('chart-entry', hidden.has(index) && 'off')}
              aria-pressed={!hidden.has(index)}
              title={hidden.has(index) ? `Show ${one.name}` : `Hide ${one.name}`}
              onClick={() => onToggle(index)}
            >
              {one.role !== 'volume' && (
                <span class={markClass(one.role === 'average' && candles.length > 0 ? index - averages : index)} />
              )}
              <span class={classes(one.role === 'volume' && 'quiet')}>{one.name}</span>
              {/* A bar has its value at the axis: the last of many would say nothing. */}
              {(kind !== 'bar' || at !== undefined) && <b>{legendText(one, at)}</b>}
            </button>
          </li>
        ),
      )}
    </ul>
  )
}

function legendText(series: Series, at: number | undefined): string {
  const value = Number(valueAt(series, at))
  return series.role === 'volume' && Math.abs(value) >= 100_000 ? compactText(value) : valueText(series, at)
}

/** Open, high, low and close in the colour of their direction, and how far the close is from the open. */
function CandleEntries({ candles, at }: { readonly candles: readonly Series[]; readonly at: number | undefined }) {
  const [open = 0, , , close = 0] = candles.map((one) => Number(valueAt(one, at)))
  const direction = close >= open ? 'chart-rise' : 'chart-fall'
  const { decimals = 2 } = candles[3] ?? {}
  const change = numberText((close - open).toFixed(decimals), { signed: true, decimals })
  const percent = numberText(((close / open - 1) * 100).toFixed(2), { signed: true, decimals: 2 })
  return (
    <>
      {candles.map((one, index) => (
        <li key={one.name} class="chart-entry" title={one.name}>
          <span class="quiet">{'OHLC'[index]}</span>
          <b class={direction}>{valueText(one, at)}</b>
        </li>
      ))}
      {Number.isFinite(close / open) && (
        <li class={classes('chart-entry', direction)}>
          <b>
            {change} ({percent} %)
          </b>
        </li>
      )}
    </>
  )
}
