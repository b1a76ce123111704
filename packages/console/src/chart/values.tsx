/** The values of a chart as a table. */
import type { Points } from './points.ts'
import { exactText, utcText, xText } from './words.ts'

/** A page of it is enough to read; the grid shows results of any size. */
const MOST_SHOWN = 500

export function ChartTable({ points, label }: { readonly points: Points; readonly label: string }) {
  const { exactX, xName, xType, series } = points
  const from = Math.max(0, exactX.length - MOST_SHOWN)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section class="chart-table" aria-label={`Values of ${label}`} tabIndex={0}>
      {from > 0 && <p class="quiet">{`The last ${MOST_SHOWN} points`}</p>}
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
              <td title={utcText(value, xType)}>{xText(value, points)}</td>
              {series.map(({ name, exact, decimals }) => (
                <td key={name} class="number">
                  {exactText(exact[from + index], decimals)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
