/** The delays of tables: which copies there are of them, and which of these can be read. */
import type { TableView } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { altered } from '../catalogue/change.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { type Copies, NO_COPIES } from '../catalogue/licences.ts'
import type { Delayed } from '../delayed/delayed.ts'
import { copyName } from '../engines/delayed-copies.ts'
import type { NodeCatalogue } from './node-catalogue.ts'

/** What statements can read of delayed tables; nothing as long as no table is delayed. */
export function createCopies(
  delayed: () => Pick<Delayed, 'version' | 'isOpen' | 'isKnown' | 'times'> | undefined,
  catalogue: Pick<NodeCatalogue, 'snapshot'>,
): Copies {
  return {
    get version() {
      return delayed()?.version ?? 0
    },
    find(table, delay): TableView | undefined {
      const { delays = [] } = catalogue.snapshot.findDefinition(table.name) ?? {}
      if (!delays.includes(delay) || delayed()?.isOpen(table.name, delay) !== true) return undefined
      return { ...table, storedAs: copyName(table.name, delay), isWritable: false }
    },
    isKnown(table, delay) {
      const { delays = [] } = catalogue.snapshot.findDefinition(table.name) ?? {}
      return !delays.includes(delay) || delayed()?.isKnown(table.name, delay) === true
    },
    get times() {
      return delayed()?.times ?? NO_COPIES.times
    },
  }
}

/** Where the table has just changed, another try follows. */
export async function setDelays(
  catalogue: Pick<NodeCatalogue, 'change'>,
  table: TableDefinition,
  delays: readonly number[],
): Promise<void> {
  try {
    await catalogue.change([{ change: altered(table, { ...table, delays }, { kind: 'rights' }), fill: null }])
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}
