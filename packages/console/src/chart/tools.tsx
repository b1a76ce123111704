/** What can be done with a chart: zoom, scales, averages, time zone, a picture of it, its values. */
import { IconButton, Menu, type MenuItem } from '../ui/index.ts'
import type { ChartView } from './choose.ts'
import type { Points } from './points.ts'
import { chooseZone, ZONES, zoneFor, zoneTitle } from './zone.ts'

/** How a chart is drawn; the viewer may change it. */
export interface ChartSettings {
  readonly isLog: boolean
  readonly isCompressed: boolean
  readonly averages: readonly number[]
}

const AVERAGES = [10, 20, 50, 200]

export interface ToolsProps {
  readonly points: Points
  readonly settings: ChartSettings
  readonly onSettings: (settings: ChartSettings) => void
  readonly isZoomed: boolean
  readonly onZoom: (factor: number) => void
  readonly onReset: () => void
  /** Undefined where pictures cannot be saved. */
  readonly onPicture: (() => void) | undefined
  readonly onTable: () => void
}

export function Tools(props: ToolsProps) {
  const { points, isZoomed, onZoom, onReset, onTable } = props
  const items = menuItems(props)
  return (
    <div class="chart-tools">
      {points.scale !== 'places' && (
        <>
          <IconButton icon="minus" label="Zoom out" size="small" disabled={!isZoomed} onClick={() => onZoom(2)} />
          <IconButton icon="plus" label="Zoom in" size="small" onClick={() => onZoom(0.5)} />
          {isZoomed && <IconButton icon="expand" label="Show everything" size="small" onClick={onReset} />}
        </>
      )}
      <IconButton icon="table" label="Show the values as a table" size="small" onClick={onTable} />
      {items.length > 0 && <Menu label="Chart options" class="button plain icon-button small" items={items} />}
    </div>
  )
}

function menuItems({ points, settings, onSettings, onPicture }: ToolsProps): MenuItem[] {
  const { isLog, isCompressed, averages } = settings
  const { kind, scale, series } = points
  const canAverage =
    kind === 'candles' || (kind === 'line' && series.filter(({ role }) => role === 'value').length === 1)
  const items: MenuItem[] = []
  if (kind !== 'bar')
    items.push({
      title: 'Logarithmic scale',
      checked: isLog,
      act: () => onSettings({ ...settings, isLog: !isLog }),
    })
  if (scale === 'time')
    items.push({
      title: 'Leave out nights and weekends',
      checked: isCompressed,
      act: () => onSettings({ ...settings, isCompressed: !isCompressed }),
    })
  if (canAverage && scale === 'time')
    items.push(
      'line',
      ...AVERAGES.map((length) => ({
        title: `Moving average of ${length}`,
        checked: averages.includes(length),
        act: () => onSettings({ ...settings, averages: toggled(averages, length) }),
      })),
    )
  if (scale === 'time') items.push('line', ...zoneItems(points))
  if (onPicture === undefined) return items
  if (items.length > 0) items.push('line')
  return [...items, { title: 'Save as PNG', icon: 'download', act: onPicture }]
}

/** That of the statement first, if it names one; without it, the viewer's own is the one that is there by itself. */
function zoneItems({ xType, zone: own }: Points): MenuItem[] {
  const shown = zoneFor(xType, own)
  const items: MenuItem[] = ZONES.filter(({ zone }) => zone !== own).map(({ zone, title }, index) => ({
    title,
    checked: shown === zone,
    act: () => chooseZone(own === undefined && index === 0 ? undefined : zone),
  }))
  if (own === undefined) return items
  const title = `${zoneTitle(own)} (of the statement)`
  return [{ title, checked: shown === own, act: () => chooseZone(undefined) }, ...items]
}

function toggled(lengths: readonly number[], length: number): readonly number[] {
  return lengths.includes(length)
    ? lengths.filter((other) => other !== length)
    : [...lengths, length].sort((a, b) => a - b)
}

/** The settings that are saved with a view. */
export function savedSettings({ scale, averages = [] }: ChartView): ChartSettings {
  return { isLog: scale === 'log', isCompressed: true, averages }
}
