/** Figures as text: on the axis of a chart all in one unit, in its legend each in the one that suits it. Independent of the page. */
import { LOCALE } from '../../ui/locale.ts'
import { bytes } from '../../ui/number.ts'
import type { Measure } from './figures.ts'

const SHORT = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 2 })
const UNITS = { rate: '/s', ms: ' ms', percent: ' %' } as const

export function axisLabels(ticks: readonly number[], measure: Measure): string[] {
  if (measure === 'bytes') return ticks.map(bytes)
  const isLong = measure === 'ms' && Math.max(0, ...ticks) >= 1000
  return ticks.map((tick) => (isLong ? `${SHORT.format(tick / 1000)} s` : `${SHORT.format(tick)}${UNITS[measure]}`))
}

/** `edge` stands for everything above it: the buckets of a histogram end there. */
export function figureText(value: number | undefined, measure: Measure, edge?: number): string {
  if (value === undefined) return '–'
  if (measure === 'bytes') return bytes(value)
  if (edge !== undefined && value >= edge) return `> ${figureText(edge, measure)}`
  return measure === 'ms' && value >= 1000 ? `${digits(value / 1000)} s` : `${digits(value)}${UNITS[measure]}`
}

const FEW = [0, 1, 2].map((digits) => new Intl.NumberFormat(LOCALE, { maximumFractionDigits: digits }))

/** About two digits, and all of a whole number. */
function digits(value: number): string {
  if (value >= 100_000) return SHORT.format(value)
  return FEW[value < 1 ? 2 : value < 10 ? 1 : 0]?.format(value) ?? ''
}
