/** Products of market data, and the agreements that people accept before they use them. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import { createDefinitions, type DefinitionStore } from '../database/definitions.ts'
import type { Schema } from '../database/schema.ts'
import type { Coverage } from './coverage.ts'

export type Access = 'none' | 'delayed' | 'realtime'

export type WhenFull = 'refuse' | 'displace' | 'delay'

export interface Product {
  readonly name: string
  /** Milliseconds: what `delayed` means; undefined where nobody has delayed access. */
  readonly delay: number | undefined
  /** For all whom no entitlement serves. */
  readonly byDefault: Access
  /** The id of the agreement that has to be accepted. */
  readonly agreement: string | undefined
  /** Milliseconds; undefined where there are no trials. */
  readonly trial: number | undefined
  /** Milliseconds before its end in which users are told that their access ends; undefined: they are not told. */
  readonly warn: number | undefined
  readonly enabled: boolean
  /** Places with real-time access that one user or client may have at once; undefined: any number. */
  readonly simultaneous: number | undefined
  /** What happens to one place more: it is refused, displaces the oldest one, or has delayed access. */
  readonly whenFull: WhenFull
  /** What the usage report counts. */
  readonly count: 'user' | 'place'
  /** Whether what it alone covers may become free. */
  readonly free?: boolean
  readonly covers: readonly Coverage[]
}

export interface Agreement {
  readonly id: string
  readonly version: string
  readonly title: string
  /** By language tag. */
  readonly text: Readonly<Record<string, string>>
  /** Whether people say if they are professionals when they accept it. */
  readonly asksStatus: boolean
  /** Milliseconds for which a version counts after another has replaced it. */
  readonly grace: number
  /** The versions before this one, the latest first. */
  readonly replaced: readonly ReplacedVersion[]
}

export interface ReplacedVersion {
  readonly version: string
  /** Milliseconds. */
  readonly at: number
}

export interface ProductStores {
  readonly products: DefinitionStore<Product>
  readonly agreements: DefinitionStore<Agreement>
}

/** A caller that changes a definition also publishes `licences-changed`, in the same transaction. */
export function createProducts(db: Kysely<Schema>, clock: Clock): ProductStores {
  return {
    products: createDefinitions<Product>(db, clock, {
      table: 'products',
      key: 'name',
      absent: { delay: undefined, agreement: undefined, trial: undefined, simultaneous: undefined },
    }),
    agreements: createAgreements(db, clock),
  }
}

/** A version that is replaced counts for a while, and those before it too. */
const MOST_REPLACED = 20

function createAgreements(db: Kysely<Schema>, clock: Clock): DefinitionStore<Agreement> {
  const definitions = createDefinitions<Agreement>(db, clock, { table: 'agreements', key: 'id' })
  return {
    ...definitions,
    async put(agreement) {
      const before = await definitions.find(agreement.id)
      const { version } = agreement
      const former = before?.replaced ?? []
      const replaced =
        before === undefined || before.version === version
          ? former
          : [{ version: before.version, at: clock() }, ...former]
      const others = replaced.filter((each) => each.version !== version).slice(0, MOST_REPLACED)
      await definitions.put({ ...agreement, replaced: others })
    },
  }
}
