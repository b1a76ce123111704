/** What the page shows: the chart with the state of what it follows below it, or why there is none. */
import { Chart, type ChartModel } from '../chart/chart.tsx'
import type { ChartView } from '../chart/choose.ts'
import { Button, Empty, IconButton, Loading } from '../ui/index.ts'
import type { HostContext } from './host.ts'
import type { Label } from './tool-result.ts'

export type Shown =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'nothing'; readonly title: string; readonly reason: string }
  | {
      readonly kind: 'chart'
      readonly model: ChartModel
      readonly view: ChartView
      readonly zone: string | undefined
      readonly more: boolean
      readonly licence: readonly Label[]
      /** `still` for a result that does not change. */
      readonly state: 'still' | 'live' | { readonly ended: string }
    }

export interface ChatChartProps {
  readonly shown: Shown
  readonly context: HostContext
  readonly onFillScreen: (wanted: boolean) => void
  readonly onFollow: () => void
}

export function ChatChart({ shown, context, onFillScreen, onFollow }: ChatChartProps) {
  if (shown.kind === 'waiting') return <Loading />
  if (shown.kind === 'nothing')
    return (
      <Empty icon="chart" title={shown.title}>
        {shown.reason}
      </Empty>
    )
  const { model, view, zone } = shown
  const { isFullscreen, canFillScreen } = context
  return (
    <>
      <Chart model={model} view={view} label="the result" zone={zone} hasPictures={false} />
      <footer class="chat-foot">
        <State shown={shown} onFollow={onFollow} />
        {shown.licence.length > 0 && <Delays labels={shown.licence} />}
        {canFillScreen && (
          <IconButton
            icon={isFullscreen ? 'close' : 'expand'}
            label={isFullscreen ? 'Back to the chat' : 'Full screen'}
            size="small"
            onClick={() => onFillScreen(!isFullscreen)}
          />
        )}
      </footer>
    </>
  )
}

/** What the viewer has to know of licensed rows, which the title has in full. */
function Delays({ labels }: { readonly labels: readonly Label[] }) {
  const text = [...new Set(labels.map(describeDelay))].join(' · ')
  return (
    <span class="chat-delays" title={text}>
      {text}
    </span>
  )
}

function describeDelay({ product, delay }: Label): string {
  if (delay === undefined) return `${product} is left out`
  return delay % 60 === 0 ? `${product} delayed by ${delay / 60} min` : `${product} delayed by ${delay} s`
}

function State({
  shown: { model, more, state },
  onFollow,
}: {
  readonly shown: Extract<Shown, { kind: 'chart' }>
  readonly onFollow: () => void
}) {
  void model.version.value
  const { size } = model
  const rows = more ? `the first ${size} rows` : size === 1 ? '1 row' : `${size} rows`
  if (typeof state === 'object')
    return (
      <>
        <span class="chat-state">{`${rows} · not live any more: ${state.ended}`}</span>
        <Button size="small" onClick={onFollow}>
          Follow again
        </Button>
      </>
    )
  return (
    <span class="chat-state" role="status">
      {state === 'live' && <span class="chat-live">Live</span>} {rows}
    </span>
  )
}
