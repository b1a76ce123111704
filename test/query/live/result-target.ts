/** The target of a live result without a database. */
import type { LiveTarget } from '../../../src/query/live/target.ts'

export const FINGERPRINT = Buffer.alloc(16, 7)

export function targetWith(isOrdered: boolean, keyNames: readonly string[] | null): LiveTarget {
  const statement = {
    sql: '',
    cost: 'unbounded',
    isSimple: false,
    columns: [],
    keyColumns: [],
    routeColumns: [],
  } as const
  const plan = { sql: '', slots: [] }
  return {
    identity: 'test',
    fingerprint: FINGERPRINT,
    method: 'rerun',
    plan: {
      method: 'rerun',
      keyNames,
      reason: '',
      isOrdered,
      statement,
      tables: [],
      views: [],
      plan,
      former: () => undefined,
      family: undefined,
    },
    tables: ['t'],
    family: undefined,
    columns: '{}',
    encoding: { rows: 'objects', integers: 'numbers' },
    owner: 'user:test',
    readsSystemTables: false,
    readsAuditLog: false,
    readFormer: () => undefined,
    read: () => ({
      owner: 'user:test',
      tables: ['t'],
      statement,
      parameters: [],
      encoding: { rows: 'objects', integers: 'numbers' },
      since: undefined,
    }),
  }
}
