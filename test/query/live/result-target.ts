/** The target of a live result without a database. */
import type { LiveMessage } from '../../../packages/server/src/query/live/contract.ts'
import { PositionSeal } from '../../../packages/server/src/query/live/position.ts'
import type { LiveMessages } from '../../../packages/server/src/query/live/results/messages.ts'
import type { LiveTarget } from '../../../packages/server/src/query/live/target.ts'
import { deriveKey } from '../../support/derived-key.ts'

/** All messages of a step. */
export function listed(messages: LiveMessages): LiveMessage[] {
  const list: LiveMessage[] = []
  while (messages.has(list.length)) list.push(messages.at(list.length))
  return list
}

export const SEAL = new PositionSeal(deriveKey, Date.now)

export function targetWith(isOrdered: boolean, keyNames: readonly string[] | null): LiveTarget {
  const statement = {
    sql: '',
    cost: 'unbounded',
    isSimple: false,
    columns: [],
    keyColumns: [],
    routeColumns: [],
  } as const
  const emitted = { sql: '', parameters: [] }
  return {
    identity: 'test',
    fingerprint: 'test',
    method: 'rerun',
    plan: {
      method: 'rerun',
      keyNames,
      reason: '',
      isOrdered,
      statement,
      tables: [],
      views: [],
      emitted,
      former: () => undefined,
      family: undefined,
    },
    tables: ['t'],
    family: undefined,
    columns: '{}',
    encoding: { rows: 'objects', integers: 'numbers' },
    text: '',
    owner: 'user:test',
    needs: [],
    labels: [],
    asOf: () => undefined,
    usesAttributes: false,
    readsSystemTables: false,
    isPolled: false,
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
