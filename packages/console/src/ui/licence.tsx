/** What results and subscriptions say of licences of market data: how late they are, and that something is left out. */
import type { LicenceLabel } from '../../../client/src/index.ts'
import { Badge } from './notice.tsx'
import { Time } from './time.tsx'
import { word } from './word.ts'

/** Nothing, where all is real-time. */
export function LicenceBadges({
  labels,
  asOf,
}: {
  readonly labels: readonly LicenceLabel[]
  readonly asOf?: string | undefined
}) {
  if (labels.length === 0) return null
  const delay = Math.max(0, ...labels.map((label) => label.delay ?? 0))
  return (
    <span class="licence-badges" title={labels.map(describe).join('\n')}>
      {delay > 0 && <DelayBadge seconds={delay} />}
      {delay > 0 && asOf !== undefined && (
        <span class="quiet">
          as of <Time at={asOf} as="time" />
        </span>
      )}
      {labels.some(({ access }) => access === 'none') && <Badge kind="warning">Without what is not licensed</Badge>}
    </span>
  )
}

export function DelayBadge({ seconds }: { readonly seconds: number }) {
  return <Badge kind="warning">Delayed by {delayText(seconds)}</Badge>
}

function describe({ product, table, access, delay, column, values, topics }: LicenceLabel): string {
  const part = topics?.join(', ') ?? (column === undefined ? '' : `${column}: ${[values].flat().join(', ')}`)
  const state = access === 'none' ? word('No access') : `${word('Delayed')}: ${delayText(delay ?? 0)}`
  return [product, table, part, state].filter(Boolean).join(' · ')
}

function delayText(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  return parts.flatMap((part, index) => (part === 0 ? [] : `${part} ${['h', 'min', 's'][index]}`)).join(' ')
}
