/** The materialized views of a table, for its retention. */
import type { TableDefinition } from '../catalogue/definition.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import type { KeptEngine } from '../engines/kept-engine.ts'
import type { TablePosition } from '../engines/live-source.ts'
import type { BucketedView, FindViews } from '../retention/views.ts'
import { writeCut } from './cuts.ts'
import { planKept } from './plan.ts'

export interface RetainedViewsOptions {
  readonly kept: KeptEngine
  readonly snapshot: () => CatalogueSnapshot
  /** Whether a view at this position has seen all that was committed to its table before the other one. */
  readonly hasSeen: (table: string, position: TablePosition, before: TablePosition) => Promise<boolean>
}

export function createFindViews({ kept, snapshot, hasSeen }: RetainedViewsOptions): FindViews {
  /** Of the table when a horizon had settled, by the name of the view. */
  const heads = new Map<string, { readonly horizon: bigint; readonly head: TablePosition | undefined }>()
  return async (table) => {
    const { byName } = snapshot()
    const views = [...byName.values()].filter(({ kept }) => kept?.uses[0].toLowerCase() === table.name.toLowerCase())
    const found = views.map((view) => ({ name: view.name, bucketed: openBucketed(view, table) }))
    return {
      bucketed: found.flatMap(({ bucketed }) => bucketed ?? []),
      others: found.flatMap(({ name, bucketed }) => (bucketed === undefined ? [name] : [])),
    }
  }

  function openBucketed(view: TableDefinition, { name, retention }: TableDefinition): BucketedView | undefined {
    const { buckets } = planKept(view, snapshot().byName, kept, { cuts: undefined, horizon: undefined })
    const bucket = buckets.find(({ of }) => of === retention?.on)
    if (bucket === undefined) return undefined
    return {
      name: view.name,
      bucketStart: (time) => kept.bucketStart(bucket, time),
      async hasReadPast(horizon) {
        const known = heads.get(view.name)
        const head = known?.horizon === horizon ? known.head : await kept.head(name)
        heads.set(view.name, { horizon, head })
        const row = await kept.states.find(view.name)
        // A view that fails is not at this state of the table.
        if (row === undefined || row.state !== 'ready' || row.position === undefined || head === undefined) return false
        return hasSeen(name, row.position, head)
      },
      async freeze(term, cut) {
        const row = await kept.states.find(view.name)
        if (row === undefined) return
        const cuts = writeCut(row.cuts, bucket.of, cut)
        if (cuts !== row.cuts) await kept.states.set(term, view.name, (value) => [`cuts = ${value(cuts)}`])
      },
    }
  }
}
