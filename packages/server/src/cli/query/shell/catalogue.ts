/** The tables and columns that the user of the shell may read, for completion. */
import { GatehouseError } from '../../../../../client/src/index.ts'
import type { Gate } from '../../gate.ts'
import { runForTable } from '../result.ts'

export interface KnownTable {
  readonly name: string
  readonly columns: readonly string[]
}

/** By their name in lower case. */
export type KnownTables = ReadonlyMap<string, KnownTable>

const STATEMENT = 'SELECT tablename, name FROM cataloguecolumns ORDER BY tablename, ordinal'

export class Catalogue {
  /** As last read: a key must not wait for the server. */
  tables: KnownTables = new Map()
  readonly #gate: Gate
  readonly #closing = new AbortController()

  constructor(gate: Gate) {
    this.#gate = gate
  }

  /** Reads them again. If that fails, the previous ones stay. */
  async refresh(): Promise<void> {
    const options = { parameters: new Map(), signal: this.#closing.signal }
    try {
      const { rows } = await runForTable(this.#gate, STATEMENT, options)
      const columns = Map.groupBy(rows, ([table = '']) => table)
      this.tables = new Map(
        [...columns].map(([name, found]) => [
          name.toLowerCase(),
          { name, columns: found.map(([, column = '']) => column) },
        ]),
      )
    } catch (error) {
      if (!(error instanceof GatehouseError) && !this.#closing.signal.aborted) throw error
    }
  }

  close(): void {
    this.#closing.abort()
  }
}
