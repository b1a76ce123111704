/** Tables with columns: long groupings compared with DuckDB, QuestDB and with the same tables without columns, and what columns cost writes. */

import { ingesting } from './column-stores.ts'
import { contender, inserting, RATES } from './query.ts'
import { HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import {
  type HistoryPeer,
  type HistoryStatement,
  startDuckHistory,
  startHistory,
  THOUSANDS,
} from './support/history-peers.ts'
import { startQuestHistory } from './support/history-questdb.ts'
import { load } from './support/http-load.ts'
import { type GatehousePeer, startGatehouse } from './support/query-peers.ts'

const STATEMENTS: readonly HistoryStatement[] = ['groups', 'bars', 'asof', 'filter', 'percentiles', 'distinct']
/** Of DuckDB's time. */
const MOST: Readonly<Record<HistoryStatement, number>> = {
  groups: 1,
  bars: 1,
  asof: 1,
  filter: 1.5,
  percentiles: 1.5,
  distinct: 2,
}
const WITHOUT = 'without columns'

export const columns: readonly Measurement[] = [
  {
    name: 'columns',
    about: `groups, bars, as-of, filter, percentiles and distinct over ${THOUSANDS.toLocaleString('en')} thousand trades in columns; DuckDB, QuestDB, and without columns`,
    columns: { ...Object.fromEntries(STATEMENTS.map((name) => [name, 'ms'])), again: 'ms', cpu: 'ms', disk: 'MiB' },
    targets: { again: { most: 20 } },
    ratios: [
      ...STATEMENTS.map((column) => ({ column, to: 'DuckDB', most: MOST[column] })),
      ...STATEMENTS.map((column) => ({ column, to: WITHOUT, most: column === 'distinct' ? 1 / 3 : 0.1 })),
      { column: 'disk', to: WITHOUT, most: 0.6 },
    ],
    subject: async (checkout) => reading(await startHistory(checkout, true)),
    async *references() {
      yield reading(await startHistory(HERE, false))
      const peer = await startDuckHistory()
      if (peer !== undefined) yield reading(peer)
      const other = await startQuestHistory()
      if (other !== undefined) yield reading(other)
    },
  },
  {
    name: 'columns-inserts',
    about: 'durable inserts of one row, 64 at once, into a table with columns and into one without',
    columns: RATES,
    ratios: [{ column: 'rate', to: WITHOUT, least: 0.95 }],
    subject: async (checkout) => contender(await withColumns(await startGatehouse(checkout)), inserting),
    async *references() {
      yield { ...contender(await startGatehouse(HERE), inserting), name: WITHOUT }
    },
  },
  {
    name: 'columns-loads',
    about: 'rows as Arrow streams into a table with columns and into one without',
    columns: { rate: 'rows/s', cpu: 'µs each' },
    ratios: [{ column: 'rate', to: WITHOUT, least: 0.95 }],
    subject: async (checkout) => loading(await withColumns(await startGatehouse(checkout))),
    async *references() {
      yield { ...loading(await startGatehouse(HERE)), name: WITHOUT }
    },
  },
]

/** One request at a time, since each uses a processor or all of them. `again` is the time of groups that were asked for just before. */
function reading(peer: HistoryPeer): Contender {
  const milliseconds = async (name: HistoryStatement): Promise<number> => {
    const request = peer.request(peer.statements[name])
    return (await load(peer.port, [{ next: () => request }], 0)).seconds * 1000
  }
  return {
    name: peer.name,
    async measure(): Promise<Figures> {
      const figures: Record<string, number> = { disk: peer.disk }
      const before = peer.use().cpuMs
      for (const name of STATEMENTS) {
        await peer.forget()
        figures[name] = await milliseconds(name)
      }
      figures.cpu = peer.use().cpuMs - before
      await milliseconds('groups')
      return { ...figures, again: await milliseconds('groups') }
    },
    close: peer.stop,
  }
}

async function withColumns(peer: GatehousePeer): Promise<GatehousePeer> {
  await load(peer.port, [{ next: () => peer.statement('ALTER TABLE trades2 SET WITH (columns = on)') }], 0)
  return peer
}

function loading(peer: GatehousePeer): Contender {
  return contender({ ...peer, ingest: peer.bulk }, ingesting)
}
