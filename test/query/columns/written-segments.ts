/**
 * Segments of a server's tables, written by the test: on a busy machine the server's own process, of the lowest priority, takes long. The
 * server reads them as its own.
 */
import { join } from 'node:path'
import { readDefinition, type TableDefinition } from '../../../packages/server/src/query/catalogue/definition.ts'
import { canBeStored } from '../../../packages/server/src/query/columns/segment.ts'
import type { CompactionTiming } from '../../../packages/server/src/query/engines/engine-options.ts'
import { readCatalogue } from '../../../packages/server/src/query/engines/sqlite/catalogue.ts'
import { buildSegment } from '../../../packages/server/src/query/engines/sqlite/columns/build-segment.ts'
import {
  addTable,
  claimNext,
  publishSegment,
  readSealed,
} from '../../../packages/server/src/query/engines/sqlite/columns/segment-tables.ts'
import { openForWriting } from '../../../packages/server/src/query/engines/sqlite/connection.ts'
import { SQLITE } from '../../../packages/server/src/query/engines/sqlite/dialect/dialect.ts'
import { rowId } from '../../../packages/server/src/query/engines/sqlite/dialect/row-id.ts'

const NEVER = 2 ** 31 - 1

/** Of a server that writes no segments by itself. */
export const BY_THE_TEST: CompactionTiming = {
  tickMs: NEVER,
  sweepMs: NEVER,
  rebuildSeconds: NEVER,
  orphanMs: NEVER,
  pauseMs: NEVER,
  segmentRows: 2 ** 30,
  smallRows: 2 ** 30,
}

/** Writes the segments of a table with columns anew, or of all such tables: of that many rows each, and as many stay without one. Returns how many there are. */
export function writeSegments(dataFolder: string, segmentRows: number, only?: string): number {
  const path = join(dataFolder, 'query.db')
  const database = openForWriting(path)
  try {
    const tables = readCatalogue(database)
      .map(readDefinition)
      .filter(({ isColumnar, name }) => isColumnar && (only === undefined || name === only))
    const write = () => tables.reduce((sum, table) => sum + writeSegmentsFor(table), 0)
    return database.transaction(write).immediate()
  } finally {
    database.close()
  }

  function writeSegmentsFor(table: TableDefinition): number {
    const { name } = table
    const id = rowId(table.columns.map((column) => column.name))
    if (id === undefined) throw new Error(`${name} has no row number`)
    addTable(database, table)
    const ids = database
      .prepare<[], bigint>(`SELECT ${id} FROM main.${SQLITE.identifier(name)} ORDER BY ${id}`)
      .pluck(true)
      .safeIntegers(true)
      .all()
    let count = 0
    for (let end = segmentRows; end + segmentRows <= ids.length; end += segmentRows) {
      const last = ids[end - 1] as bigint
      const sealed = readSealed(database, name) ?? null
      const claimed = claimNext(database, name, { sealed, last, now: 1 })
      if (claimed === undefined) throw new Error('Another process writes segments')
      const columns = table.columns.filter(({ type }) => canBeStored(type))
      const built = buildSegment(database, path, { table: name, rowId: id, ...claimed, columns })
      if (publishSegment(database, claimed, built)) count++
    }
    return count
  }
}
