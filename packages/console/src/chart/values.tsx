/** The values of a chart as text: those at the pointer, and all of them as a table. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { markOf } from './colours.ts'
import type { PointedAt, Points } from './points.ts'
import { exactText, utcText, xText } from './words.ts'

export interface TooltipProps {
  readonly points: Points
  readonly at: PointedAt
  readonly hidden: ReadonlySet<number>
}

/** Next to the pointer, on the side with more room. */
export function Tooltip({ points, at, hidden }: TooltipProps) {
  const { exactX, xType, series, kind } = points
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const tooltip = element.current
    const over = tooltip?.parentElement?.querySelector<HTMLElement>('.u-over')
    if (!tooltip || !over) return
    const x = over.offsetLeft + at.left
    const isRight = x > over.offsetLeft + over.clientWidth / 2
    tooltip.style.setProperty('translate', `${Math.round(isRight ? x - tooltip.offsetWidth - 12 : x + 12)}px 0`)
  })
  const utc = utcText(exactX[at.index], xType)
  return (
    <div ref={element} class="chart-tooltip" aria-hidden="true">
      <p class="chart-when">{xText(exactX[at.index], xType)}</p>
      {utc !== undefined && <p class="quiet">{utc}</p>}
      <table>
        <tbody>
          {series.map(({ name, exact }, index) =>
            hidden.has(index) || exact[at.index] === undefined ? null : (
              <tr key={name}>
                <td>
                  {kind !== 'candles' && <span class={markOf(index)} />}
                  {name}
                </td>
                <td class="number">{exactText(exact[at.index])}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}

/** A page of it is enough to read; the grid shows results of any size. */
const MOST_SHOWN = 500

export function ChartTable({ points, label }: { readonly points: Points; readonly label: string }) {
  const { exactX, xName, xType, series } = points
  const from = Math.max(0, exactX.length - MOST_SHOWN)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section class="chart-table" aria-label={`Values of ${label}`} tabIndex={0}>
      {from > 0 && <p class="quiet">The last {MOST_SHOWN} points</p>}
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{xName}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {exactX.slice(from).map((value, index) => (
            <tr key={from + index}>
              <td title={utcText(value, xType)}>{xText(value, xType)}</td>
              {series.map(({ name, exact }) => (
                <td key={name} class="number">
                  {exactText(exact[from + index])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
