/** The legend: what each colour stands for, with the value at the pointer, or else the last one. */
import { classes } from '../ui/index.ts'
import { markOf } from './colours.ts'
import type { Points } from './points.ts'
import { exactText, lastOf } from './words.ts'

export interface LegendProps {
  readonly points: Points
  /** Where the pointer is. */
  readonly at: number | undefined
  readonly hidden: ReadonlySet<number>
  readonly onToggle: (index: number) => void
}

export function Legend({ points, at, hidden, onToggle }: LegendProps) {
  const { kind, series } = points
  const textOf = (exact: readonly unknown[]) => exactText(at === undefined ? lastOf(exact) : exact[at])
  if (kind === 'candles') {
    const [open, , , close] = series.map(({ exact }) => Number(at === undefined ? lastOf(exact) : exact[at]))
    return (
      <ul class="chart-legend">
        {series.map(({ name, exact }) => (
          <li key={name} class="chart-entry">
            <span class="quiet">{name}</span>
            <b class={(close ?? 0) >= (open ?? 0) ? 'chart-rise' : 'chart-fall'}>{textOf(exact)}</b>
          </li>
        ))}
      </ul>
    )
  }
  // A bar has its value at the axis: the last of many would say nothing.
  const hasValue = kind !== 'bar' || at !== undefined
  return (
    <ul class="chart-legend">
      {series.map(({ name, exact }, index) => (
        <li key={name}>
          <button
            type="button"
            class={classes('chart-entry', hidden.has(index) && 'off')}
            aria-pressed={!hidden.has(index)}
            title={hidden.has(index) ? `Show ${name}` : `Hide ${name}`}
            onClick={() => onToggle(index)}
          >
            <span class={markOf(index)} />
            <span>{name}</span>
            {hasValue && <b>{textOf(exact)}</b>}
          </button>
        </li>
      ))}
    </ul>
  )
}
