/** Tells users by mail, once, that their access to a product ends; how many accesses end soon is a metric. */
import type { Clock } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import { transactWithEvents } from '../store/cluster/event-transaction.ts'
import type { Database } from '../store/database/database.ts'
import type { Product } from '../store/licences/products.ts'
import type { MailPort } from '../store/mail/notify.ts'
import type { Stores } from '../store/stores.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { isAtLeast } from './decide.ts'
import { licencesNow } from './service.ts'

export interface WarningsEnv {
  readonly database: Database
  readonly stores: Pick<Stores, 'licences' | 'users' | 'clients'>
  readonly clock: Clock
  readonly metrics: Metrics
  /** Undefined where no mail is set up. */
  readonly mail: Pick<MailPort, 'notify'> | undefined
  readonly bus: Pick<Bus, 'subscribe' | 'receive'>
  readonly onError: (error: unknown) => void
}

const CHECK_EVERY_MS = 60_000
/** After a change. */
const SOON_MS = 1_000
/** Of one product, at once. */
const MOST_ENDING = 10_000
const DAY = 86_400_000

export function startWarnings(env: WarningsEnv): { close(): Promise<void> } {
  let ending: readonly (readonly [product: string, count: number])[] = []
  let checking: Promise<void> | undefined
  env.metrics.watch('gatehouse_licence_ending', () => ending.map(([product, count]) => [{ product }, count]))
  const check = (): void => {
    checking ??= warn(env)
      .then((counted) => {
        ending = counted
      })
      .catch(env.onError)
      .finally(() => {
        checking = undefined
      })
  }
  check()
  const timer = setInterval(check, CHECK_EVERY_MS).unref()
  let soon: NodeJS.Timeout | undefined
  const unsubscribe = env.bus.subscribe(({ kind }) => {
    if (kind === 'licences-changed') soon ??= setTimeout(checkChanged, SOON_MS).unref()
  })
  function checkChanged(): void {
    soon = undefined
    check()
  }
  return {
    async close() {
      unsubscribe()
      clearTimeout(soon)
      clearInterval(timer)
      await checking
    },
  }
}

/** Returns how many accesses to each product end within its time. */
async function warn(env: WarningsEnv): Promise<[product: string, count: number][]> {
  const { licences } = env.stores
  const now = env.clock()
  const counts: [string, number][] = []
  for (const product of await licences.products.list()) {
    if (product.warn === undefined) continue
    const found = await licences.entitlements.ending(product.name, now, now + product.warn, MOST_ENDING)
    counts.push([product.name, found.length])
    if (env.mail === undefined || !product.enabled) continue
    for (const { user, at } of found) await tell(user, at, product, env.mail, env)
  }
  await licences.forgetWarnings(now - DAY)
  return counts
}

/** Unless the access goes on by another entitlement. */
async function tell(
  userId: string,
  at: number,
  product: Product,
  mail: Pick<MailPort, 'notify'>,
  env: WarningsEnv,
): Promise<void> {
  const [now, then] = [
    await readAccess(userId, product, env.clock, env),
    await readAccess(userId, product, () => at, env),
  ]
  if (now === undefined || then === undefined || isAtLeast(then, now)) return
  const { database, clock, bus } = env
  await transactWithEvents({ database, clock, receive: bus.receive }, async (stores) => {
    if (!(await stores.licences.warn(userId, product.name, at))) return
    await mail.notify(stores, { kind: 'licence-ending', userId, subject: product.name, endsAt: at })
  })
}

async function readAccess(userId: string, product: Product, clock: Clock, { stores }: WarningsEnv) {
  const licences = licencesNow({ stores, clock })
  const subject = await licences.find('user', userId)
  if (subject === undefined || subject.isDisabled) return undefined
  const [standing] = await licences.standings(await licences.facts(subject), [product])
  return standing?.decision.access
}
