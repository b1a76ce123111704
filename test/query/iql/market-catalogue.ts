/** A small catalogue of market data, as seen by one caller, for tests of the binder. */
import type { CatalogueView, ColumnView, TableView } from '../../../packages/iql/src/bound/catalogue-view.ts'
import { parseExpressionText } from '../../../packages/iql/src/syntax/parser.ts'
import {
  BINARY,
  BOOLEAN,
  DATE,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  JSON_TYPE,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from '../../../packages/iql/src/types/types.ts'

export function marketCatalogue(options: { mayWrite?: boolean; mayDefine?: boolean } = {}): CatalogueView {
  const { mayWrite = true, mayDefine = true } = options
  const byName = new Map(TABLES.map((table) => [table.name.toLowerCase(), table]))
  const trades = TABLES[0]
  return {
    lookup: (name) => byName.get(name.toLowerCase()),
    hidden: () => undefined,
    tableNames: () => TABLES.map(({ name }) => name),
    lookupIndex: (name) =>
      name.toLowerCase() === 'trades_ts' && trades ? { name: 'trades_ts', table: trades } : undefined,
    missingWriteScope: () => (mayWrite ? undefined : 'Platform/Admin'),
    missingDefineScope: () => (mayDefine ? undefined : 'Platform/Admin'),
    attributes: new Map(),
  }
}

/** `!` not null, `=` with a default. */
function columns(definition: Readonly<Record<string, IqlType>>): ColumnView[] {
  return Object.entries(definition).map(([key, type]) => ({
    name: key.replace(/[!=]/g, ''),
    type,
    nullable: !key.includes('!'),
    hasDefault: key.includes('='),
  }))
}

function table(name: string, definition: Readonly<Record<string, IqlType>>, rest: Partial<TableView> = {}): TableView {
  const plain = { primaryKey: [], uniques: [], rowFilter: undefined, isSystem: false, isWritable: true, isLive: true }
  return { name, columns: columns(definition), ...plain, ...rest }
}

const TABLES: readonly TableView[] = [
  table(
    'trades',
    { 'id!': INTEGER, 'symbol!': TEXT, 'price!': decimal(12, 4), 'qty!': INTEGER, 'ts!': TIMESTAMP, note: TEXT },
    { primaryKey: ['id'], uniques: [['symbol', 'ts']] },
  ),
  table('quotes', { 'symbol!': TEXT, 'ts!': TIMESTAMP, bid: decimal(12, 4), ask: decimal(12, 4) }),
  table('kinds', {
    t: TEXT,
    i: INTEGER,
    d: decimal(18, 4),
    f: DOUBLE,
    b: BOOLEAN,
    ts: TIMESTAMP,
    day: DATE,
    at: TIME,
    u: UUID,
    j: JSON_TYPE,
    bin: BINARY,
  }),
  table(
    'orders',
    { 'id!': INTEGER, 'owner!': TEXT, desk: TEXT, 'qty!=': INTEGER, limit_price: decimal(10, 2) },
    { primaryKey: ['id'], rowFilter: parseExpressionText('owner = :sub OR desk IN (:role)') },
  ),
  table('cataloguetables', { 'name!': TEXT, 'issystem!': BOOLEAN }, { isSystem: true, isWritable: false }),
  table('CatalogueTable', { 'name!': TEXT }, { isSystem: true }),
]
