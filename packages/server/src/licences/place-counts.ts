/** How many sign-ins and programs use each product, for the metrics. */
import type { Stores } from '../store/stores.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const COUNT_EVERY_MS = 10_000

export function watchPlaces(
  { licences }: Pick<Stores, 'licences'>,
  metrics: Metrics,
  onError: (error: unknown) => void,
): { close(): void } {
  let counts: Awaited<ReturnType<typeof licences.countPlaces>> = []
  const count = (): void => {
    licences.countPlaces().then((counted) => {
      counts = counted
    }, onError)
  }
  metrics.watch('gatehouse_licence_sessions', () =>
    counts.map(({ product, access, count: sessions }) => [{ product, access }, sessions]),
  )
  metrics.watch('gatehouse_licence_places', () =>
    counts.filter(({ access }) => access === 'realtime').map(({ product, count: places }) => [{ product }, places]),
  )
  count()
  const timer = setInterval(count, COUNT_EVERY_MS).unref()
  return { close: () => clearInterval(timer) }
}
