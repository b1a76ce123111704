/** Which changes of the logs copies of delayed tables still need. */
import type { Database } from 'better-sqlite3'
import { logName } from '../../change-log.ts'
import { COPIES } from '../../delayed-copies.ts'

/** How far copies have read each log: what follows is kept. */
export function neededFrom(database: Database): ReadonlyMap<string, number> {
  const rows = database
    .prepare<[], { base: string; position: number }>(
      `SELECT base, min(CAST(position AS INTEGER)) AS position FROM main.${COPIES} GROUP BY base`,
    )
    .all()
  return new Map(rows.map(({ base, position }) => [logName(base), position]))
}
